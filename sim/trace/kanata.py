"""Kanata 0004, which the viewer Konata shows: a line for each fetch, with the stages that it went through.

Source: docs/kanata-log-format.md of Konata. A thread is a warp. Lane 0 has the stages: F fetch, D decode, B in the
instruction buffer, I issue, R operand read, X execution, W write of the register. Lane 1 says what the warp's next
instruction waits for. What never becomes an instruction is flushed: a NOP in its place, a wrong path.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import IO

import numpy as np

from metronome.hdl.config import Coordination, SmConfig
from metronome.sim.disassembly import disassemble, registers_of
from metronome.sim.predict.records import NONE

from .cycles import Cause, Cycles
from .rows import DETAILS, INACTIVE, READY, states_of

__all__ = ["KanataTrace"]

_FETCH, _STAGE_X = 3, 2
#: Stages behind the fetch, by cycles since it began.
_STAGES = (("D", _FETCH), ("B", _FETCH + 1))
#: Nobody has written a register yet.
_NEVER = "", -2
#: How the line of an end ends.
_RETIRED, _FLUSHED = "\t0\n", "\t1\n"
_ABOUT = {
    Cause.START: "NOP: in the buffer at the start", Cause.MISS: "NOP: its fetch missed the I-cache",
    Cause.REDIRECT: "NOP: control flow went elsewhere",
}


class _Warp:
    """What is in a warp's buffer and on the way there, and who writes its registers."""

    def __init__(self) -> None:
        #: (id, cycle of the fetch), the next to be issued first. An id is kept as it is written.
        self.fetched: deque[tuple[str, int]] = deque()
        #: id and cycle since which the next one waits, with the reason.
        self.waits: tuple[str, int, str] | None = None
        #: By register: the instruction that is to write it.
        self.writers: dict[int, str] = {}
        #: By register: who has written it last, and when.
        self.written: dict[int, tuple[str, int]] = {}


class KanataTrace:
    """A trace for Konata. ``source``: the source line of a pc, or None."""

    def __init__(self, config: SmConfig, sink: IO[bytes], source: Callable[[int], str | None]) -> None:
        self._config, self._sink, self._source = config, sink, source
        self._swas = config.coordination is Coordination.SWAS

    def begin(self) -> None:
        """See :class:`sim.trace.cycles.Sink`."""
        self._sink.seek(0)
        self._sink.truncate()
        self._sink.write(b"Kanata\t0004\nC=\t0\n")
        self._warps = [_Warp() for _ in range(self._config.warps)]
        #: Lines by cycle, of this cycle and later ones.
        self._lines: defaultdict[int, list[str]] = defaultdict(list)
        #: What ends in them, and how the line ends: retirements are numbered when their cycle has come.
        self._ends: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
        self._next = self._retired = self._told = 0
        self._alive: set[str] = set()
        #: What is said of an instruction: by warp, pc, word and lanes its labels; by word the registers.
        self._labels: dict[tuple[int, int, int, int], tuple[str, str]] = {}
        self._registers: dict[int, tuple[int | None, tuple[int, ...]]] = {}

    def take(self, cycles: Cycles) -> None:
        """See :class:`sim.trace.cycles.Sink`."""
        events = cycles.events
        states = states_of(events, self._config.warps)
        changed = states != np.concatenate([states_of(cycles.before, self._config.warps), states[:-1]])
        at, whose = np.nonzero(changed)
        changes = iter([*zip(at.tolist(), whose.tolist(), states[at, whose].tolist(), strict=True), (NONE, 0, 0)])
        changes_at, changes_warp, becomes = next(changes)
        names = ("cycle", "selected", "fetched", "resolved_warp", "turn", "written_warp", "written_register")
        columns = [events[name].tolist() for name in names]
        redirects = ((events["resolves"] != 0) & (events["redirects"] != 0)).tolist()
        ends = ((events["written"] != 0) & (events["written_last"] != 0)).tolist()
        selections = (cycles.pc, cycles.word, cycles.lanes, cycles.cause, cycles.missed)
        rows = zip(*columns, redirects, ends, *(each.tolist() for each in selections), strict=True)
        warps, swas, issue, fetch, write = self._warps, self._swas, self._issue, self._fetch, self._write
        for place, row in enumerate(rows):
            (cycle, selected, fetched, resolved, turn, writer, register, redirect, end,
             pc, word, lanes, cause, missed) = row
            if end:
                # Before the issue: who is issued now may write the same register.
                write(warps[writer], cycle, register)
            if missed != NONE and not swas:
                self._flush(missed, cycle, cycle - 1, "its fetch missed the I-cache")
            while changes_at == place:
                self._state(cycle, warps[changes_warp], becomes)
                changes_at, changes_warp, becomes = next(changes)
            if selected != NONE:
                issue(warps[selected], selected, cycle, pc, word, lanes, cause)
            if fetched != NONE:
                fetch(fetched, cycle)
            if swas:
                continue
            if redirect:
                self._flush(resolved, cycle, 0, "control flow went elsewhere")
            if turn != NONE:
                self._flush(turn, cycle, cycle - _FETCH + 1, "behind a jump")
        self._put(int(events["cycle"][-1]))

    def finish(self) -> None:
        """See :class:`sim.trace.cycles.Sink`."""
        last = max([self._told, *self._lines, *self._ends])
        for number in sorted(self._alive, key=int):
            self._lines[last].append(f"L\t{number}\t0\t(the run is over)\n")
            self._end(number, last, _FLUSHED)
        self._put(last)

    def _put(self, until: int) -> None:
        """Write what belongs to the cycles up to ``until``: nothing can be added to them any more."""
        parts: list[str] = []
        for cycle in range(self._told, until + 1):
            lines, ends = self._lines.pop(cycle, None), self._ends.pop(cycle, None)
            if lines is None and ends is None:
                continue
            if cycle > self._told:
                parts.append(f"C\t{cycle - self._told}\n")
                self._told = cycle
            parts += lines or ()
            for number, end in ends or ():
                parts.append(f"R\t{number}\t{self._retired}{end}")
                self._retired += end is _RETIRED
        self._sink.write("".join(parts).encode())

    def _fetch(self, warp: int, cycle: int) -> None:
        number, lines = str(self._next), self._lines
        self._next += 1
        self._alive.add(number)
        lines[cycle].append(f"I\t{number}\t{number}\t{warp}\nS\t{number}\t0\tF\n")
        lines[cycle + _FETCH].append(f"S\t{number}\t0\tD\n")
        lines[cycle + _FETCH + 1].append(f"S\t{number}\t0\tB\n")
        self._warps[warp].fetched.append((number, cycle))

    def _end(self, number: str, cycle: int, end: str) -> None:
        alive = self._alive
        if number in alive:
            alive.remove(number)
            self._ends[cycle].append((number, end))

    def _flush(self, warp: int, cycle: int, since: int, about: str) -> None:
        """Whatever the warp has fetched since a cycle is for nothing."""
        mine = self._warps[warp]
        while mine.fetched and mine.fetched[-1][1] >= since:
            number, begun = mine.fetched.pop()
            for stage, later in _STAGES:
                if begun + later > cycle:  # it does not come so far
                    self._lines[begun + later].remove(f"S\t{number}\t0\t{stage}\n")
            self._lines[cycle].append(f"L\t{number}\t0\t(flushed: {about})\n")
            if mine.waits is not None and mine.waits[0] == number:
                mine.waits = None
            self._end(number, cycle, _FLUSHED)

    def _state(self, cycle: int, mine: _Warp, state: int) -> None:
        """The warp waits for something else from here on, or for nothing."""
        if mine.waits is not None:
            self._lines[cycle].append(f"E\t{mine.waits[0]}\t1\t{mine.waits[2]}\n")
            mine.waits = None
        if state not in (READY, INACTIVE) and mine.fetched:
            number, reason = mine.fetched[0][0], DETAILS[state - 1]
            mine.waits = number, cycle, reason
            self._lines[cycle].append(f"S\t{number}\t1\t{reason}\n")

    def _labels_of(self, warp: int, pc: int, word: int, lanes: int) -> tuple[str, str]:
        """What is put behind the id, in both labels; the first ends where the id comes again."""
        place = self._source(pc)
        about = f"warp {warp}, {lanes.bit_count()} of {self._config.threads} lanes ({lanes:#x}), word {word:#010x}"
        label = f"\t0\t{pc:08x}: {disassemble(word, pc)}\nL\t"
        self._labels[warp, pc, word, lanes] = label, f"\t1\t{about}" + (f", {place}\n" if place else "\n")
        self._registers[word] = registers_of(word)
        return self._labels[warp, pc, word, lanes]

    def _issue(self, mine: _Warp, warp: int, cycle: int, pc: int, word: int, lanes: int, cause: int) -> None:
        lines, new = self._lines, ""
        if cause == Cause.START or not mine.fetched:
            number = str(self._next)
            self._next += 1
            self._alive.add(number)
            new = f"I\t{number}\t{number}\t{warp}\n"
        else:
            number, _ = mine.fetched.popleft()
        if cause:
            lines[cycle].append(f"{new}S\t{number}\t0\tI\nL\t{number}\t0\t{_ABOUT[Cause(cause)]}\n")
            self._end(number, cycle + 1, _FLUSHED)
            return
        if pc == NONE:
            lines[cycle].append(f"{new}S\t{number}\t0\tI\n")
            return  # the run is over before it is executed
        label, about = self._labels.get((warp, pc, word, lanes)) or self._labels_of(warp, pc, word, lanes)
        lines[cycle].append(f"{new}S\t{number}\t0\tI\nL\t{number}{label}{number}{about}")
        lines[cycle + 1].append(f"S\t{number}\t0\tR\n")
        lines[cycle + _STAGE_X].append(f"S\t{number}\t0\tX\n")
        register, sources = self._registers[word]
        for each in sources:
            writer, when = mine.written.get(each, _NEVER)
            # It came just in time: what is issued next has waited for it, or might have.
            if when >= cycle - 1:
                lines[cycle].append(f"W\t{number}\t{writer}\t0\n")
        if register is None:
            self._end(number, cycle + _STAGE_X + 1, _RETIRED)
        else:
            mine.writers[register] = number

    def _write(self, mine: _Warp, cycle: int, register: int) -> None:
        number = mine.writers.pop(register, None)
        if number is not None:
            self._lines[cycle].append(f"S\t{number}\t0\tW\n")
            self._end(number, cycle + 1, _RETIRED)
            mine.written[register] = number, cycle
