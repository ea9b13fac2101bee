"""A warp that is executed abstractly on all its paths."""

from __future__ import annotations

from collections.abc import Callable

from .execution import Execution
from .fact_filter import FactFilter
from .path import Path
from .warp import Event

__all__ = ["RunningWarp"]

#: Added to the pc of an instruction without a place, which puts it after all places of the function.
_FAR = 1 << 30


class RunningWarp:
    """A running warp: its paths, which wait for each other where they can join, and the event the warp waits for."""

    def __init__(self, execution: Execution, path: Path, facts: FactFilter) -> None:
        self.execution, self._facts = execution, facts
        self.paths = [path]
        self.event: Event | None = None
        self.parted = False

    @property
    def path(self) -> Path:
        """The only path."""
        (path,) = self.paths
        return path

    def run(self, count: Callable[[int], None]) -> Event:
        """Run to the next event. At intervals, call ``count`` with the number of instructions since its last call."""
        execution, warp = self.execution, self.execution.warp
        while True:
            path = self.path
            warp.alone = path.sure
            warp.install(path)
            steps = 0
            while len(self.paths) == 1 and warp.alone:
                place = path.pc
                following, event = execution.step(path)
                self.paths = [each for each in following if self._facts.allow(each)]
                steps += 1
                if event is not None and self.paths:
                    count(steps)
                    return event
                if not self.paths:
                    raise self._facts.impossible(place)
                path = self.paths[0]
                if steps == 4096:
                    count(steps)
                    steps = 0
                if not path.sure:
                    warp.alone = False
            count(steps)
            self.parted = True
            paths, self.paths = self.paths, []
            for each in paths:
                self._add(each)
            self._together(count)

    def _together(self, count: Callable[[int], None]) -> None:
        """Advance the paths until only one is left and its active lanes are known."""
        warp = self.execution.warp
        warp.alone = False
        while len(self.paths) > 1 or not self.path.sure:
            path = self.paths.pop(min(range(len(self.paths)), key=lambda at: self.paths[at].place))
            place = path.pc
            steps, following = self._advance(path)
            count(steps)
            for each in following:
                self._add(each)
            if not self.paths:
                raise self._facts.impossible(place)
        path = self.path
        warp.memory.flush(path.overlay)
        path.overlay.clear()
        path.private.clear()
        for turns in path.turns:
            turns.clear()

    def _advance(self, path: Path) -> tuple[int, list[Path]]:
        """Advance a path to a point where another may join it; return the number of steps and the resulting paths."""
        execution = self.execution
        others = {each.pc for each in self.paths}
        execution.warp.install(path)
        steps = 0
        while True:
            before = path.pc
            following, _ = execution.step(path)
            following = [each for each in following if self._facts.allow(each)]
            steps += 1
            headers = [self._turn(each, before) for each in following]
            if len(following) != 1 or headers[0] or execution.warp.program.at(before).decoded.row.control:
                return steps, following
            path = following[0]
            if path.pc in others or (not others and path.sure):
                return steps, following

    def _add(self, path: Path) -> None:
        for other in self.paths:
            if other.pc == path.pc and other.shape == path.shape:
                other.join(path, self.execution.warp.memory, self.execution.warp.values)
                other.place = self._place(other)
                return
        path.place = self._place(path)
        self.paths.append(path)

    def _turn(self, path: Path, before: int) -> bool:
        """Count loop iterations; return whether the path is at a loop header."""
        entry = path.calls[-1][0] if path.calls else None
        if entry is None:
            return False
        function = self.execution.warp.program.function(entry)
        loops = function.loops.get(path.pc, ())
        if not loops or loops[-1] != path.pc:
            return False
        turns = path.turns[-1]
        turns[path.pc] = turns.get(path.pc, 0) + 1 if path.pc in function.loops.get(before, ()) else 0
        if turns[path.pc] > self._facts.most_turns(function, path.pc):
            raise self._facts.endless(path.pc)
        return True

    def _place(self, path: Path) -> tuple[int, ...]:
        """Return a path's place in the order. If two paths have equal places, the one in more splits comes first."""
        place: list[int] = []
        program = self.execution.warp.program
        pcs = [back - 4 for _, back in path.calls[1:]] + [path.pc]
        for (entry, _), pc, turns in zip(path.calls, pcs, path.turns[1:], strict=True):
            function = program.function(entry)
            for header in function.loops.get(pc, ()):
                place += [function.place[header], turns.get(header, 0)]
            place.append(function.place.get(pc, _FAR + pc))
        return (*place, -len(path.splits))
