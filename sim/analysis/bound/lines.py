"""The lines of data that one warp loads, along a path: which are in the cache for certain, which may still come."""

from __future__ import annotations

from collections.abc import Iterable

from ..code.costs import LOAD, MISS
from ..paths.clock import Access
from .counts import SharedState, WarpCounts, few_lines

__all__ = ["UNTRACKED", "LoadedLines"]

#: Parts under way of a load whose end nothing tells.
UNTRACKED = 1 << 20


class LoadedLines:
    """What is known of the data cache by what this warp has loaded and waited for (docs/wcet.md, "Memory").

    A line that stays is in the cache as soon as something has been executed that depends on a load of it. Until then
    it may come, no later than in a cycle that is counted as if the warp were alone.
    """

    def __init__(self, shared: SharedState, counts: WarpCounts, present: Iterable[int] = ()) -> None:
        self._shared, self.counts = shared, counts
        self._present = {line for line in present if shared.stays(line)}
        #: Line -> the cycle in which what depends on its coming can be issued.
        self._comes: dict[int, int] = {}
        #: Register -> the lines of the load that it waits for, and the most parts of that under way.
        self._loads: dict[int, tuple[frozenset[int], int]] = {}
        #: The first and the last line of loads to places that are not known -> how many lines they touch at most.
        self._ranged: dict[tuple[int, int], int] = {}

    def copy(self, counts: WarpCounts) -> LoadedLines:
        """The same on another path, whose counts these are."""
        twin = LoadedLines(self._shared, counts)
        twin._present, twin._comes = set(self._present), dict(self._comes)
        twin._loads, twin._ranged = dict(self._loads), dict(self._ranged)
        return twin

    def join(self, other: LoadedLines) -> None:
        """From here on the path is this one or the ``other``."""
        self._present &= other._present
        # A line that was asked for on one path only may have to be asked for again.
        comes = self._comes.keys() & other._comes.keys()
        self._comes = {line: max(self._comes[line], other._comes[line]) for line in comes}
        for register, (lines, parts) in other._loads.items():
            mine = self._loads.get(register)
            # If nothing is under way on one path, nothing is known of the other's lines there.
            self._loads[register] = (frozenset(), parts) if mine is None else (mine[0] & lines, max(mine[1], parts))
        for register in self._loads.keys() - other._loads.keys():
            self._loads[register] = frozenset(), self._loads[register][1]
        for within, count in other._ranged.items():
            self._ranged[within] = max(count, self._ranged.get(within, 0))

    def met(self) -> None:
        """The warp goes on with others: what it has waited for until now is their time, too."""
        self._ranged.clear()

    def read(self, registers: Iterable[int]) -> None:
        """An instruction is issued that depends on ``registers``."""
        for register in registers:
            load = self._loads.pop(register, None)
            if load is not None:
                self._present |= load[0]

    def drained(self) -> None:
        """Nothing that was loaded is under way any more."""
        self.read(list(self._loads))

    def load(self, register: int | None, time: int, access: Access, excess: int) -> int:
        """When what depends on a load can be issued, which was issued at ``time``."""
        ready = time + LOAD + excess
        missed = ready + MISS + self._shared.memory.base
        if access.lines is None:
            ready = self._somewhere(access, ready, missed)
            stay, parts = frozenset[int](), access.most
        else:
            stay = frozenset(line for line in access.certain if self._shared.stays(line))
            lacking = [line for line in access.lines if line not in self._present]
            parts = len(lacking)
            for line in lacking:
                comes = self._comes.setdefault(line, missed) if line in stay else self._comes.get(line, missed)
                ready = max(ready, comes)
            self._shared.awaited.update(lacking)
        if parts:
            self.counts.missing += parts
            self._take(register, stay, parts)
        return ready

    def _somewhere(self, access: Access, ready: int, missed: int) -> int:
        within, lines = access.within, few_lines(access.within)
        if within is None or lines is None:
            return missed
        self._shared.awaited.update(lines)
        if not all(map(self._shared.stays, lines)):
            return missed
        # Each line of the range makes this warp wait once, whichever of the loads touches it first.
        self._ranged[within] = self._ranged.get(within, 0) + access.most
        return ready

    def _take(self, register: int | None, stay: frozenset[int], parts: int) -> None:
        if register is None:
            self.counts.parts = UNTRACKED
            return
        self._loads[register] = stay, parts
        self.counts.parts = max(self.counts.parts, sum(each for _, each in self._loads.values()))

    @property
    def ranged(self) -> int:
        """Cycles for which the warp waits for lines at places that are not known."""
        waits = sum(min(count, last - first + 1) for (first, last), count in self._ranged.items())
        return waits * (MISS + self._shared.memory.base)
