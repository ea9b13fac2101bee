"""Kanata 0004, the format of the viewer Konata: one line for each fetch, with the stages that it passed.

Source: docs/kanata-log-format.md of Konata. Its threads are warps. Lane 0 has the stages: F fetch, D decode, B in the
instruction buffer, I issue, R operand read, X execution, W write of the register. Lane 1 shows the reason
for which the warp's next instruction waits. A fetch that never becomes an instruction is flushed: a NOP in its place,
or a wrong path.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from metronome.hdl.config import Coordination, SmConfig

from ...machine.events import NONE
from ...program.assembler.disassembly import disassemble, registers_of
from .about import About
from .cycles import Cause, Cycles
from .rows import DETAILS, INACTIVE, READY, states_of

__all__ = ["KanataTrace"]

_FETCH = 3
#: No instruction has written a register yet.
_NEVER = "", -2
#: The end of a line that marks the end of a fetch.
_RETIRED, _FLUSHED = "\t0\n", "\t1\n"
_ABOUT = {
    Cause.START: "NOP: in the buffer at the start", Cause.MISS: "NOP: its fetch missed the I-cache",
    Cause.REDIRECT: "NOP: control flow went elsewhere",
}


class _Warp:
    """The instructions in a warp's buffer and on the way to it, and the instructions that write its registers."""

    def __init__(self) -> None:
        #: (id, cycle of the fetch), the next to be issued first. An id is kept as the text that is written.
        self.fetched: deque[tuple[str, int]] = deque()
        #: The next instruction, if it waits, and the reason.
        self.waits: tuple[str, str] | None = None
        #: By register: the instructions that will write it, the next one first. There are two if the second one was
        #: issued just before the write of the first one, which it gets from the operand register.
        self.writers: defaultdict[int, deque[str]] = defaultdict(deque)
        #: By register: the instruction that wrote it last, and when.
        self.written: dict[int, tuple[str, int]] = {}


class _Partition:
    """The instructions on the way through the stages of a partition; an id is empty for none."""

    def __init__(self, config: SmConfig) -> None:
        #: The instructions fetched one to four cycles ago, and those issued before stage X.
        self.fetches, self.issues = [""] * 4, [""] * config.issue_latency


class KanataTrace:
    """A trace for Konata. ``sink`` is a binary file."""

    def __init__(self, config: SmConfig, sink: IO[bytes], about: About) -> None:
        self._config, self._sink, self._source = config, sink, about.image.source_line
        self._swas = config.coordination is Coordination.SWAS

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._sink.seek(0)
        self._sink.truncate()
        self._sink.write(b"Kanata\t0004\nC=\t0\n")
        self._warps = [_Warp() for _ in range(self._config.warps)]
        #: Output lines of the current cycle.
        self._lines: list[str] = []
        #: By cycle: the instructions that end in it, and the end of each line. Retirements are numbered in that cycle.
        self._ends: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
        self._partitions = [_Partition(self._config) for _ in range(self._config.schedulers)]
        self._next = self._retired = self._told = self._cycle = 0
        self._alive: set[str] = set()
        #: Cached facts about an instruction: labels by warp, pc, word and lanes; registers by word.
        self._labels: dict[tuple[int, int, int, int], tuple[str, str]] = {}
        self._registers: dict[int, tuple[int | None, tuple[int, ...]]] = {}

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        first = self._cycle
        parts: list[str] = []
        steps = [self._steps(cycles, mine) for cycles, mine in zip(partitions, self._partitions, strict=True)]
        for cycle in range(first, first + len(partitions[0])):
            for each in steps:
                next(each)
            self._put(cycle, parts)
        self._sink.write("".join(parts).encode())

    def _steps(self, cycles: Cycles, mine: _Partition) -> Iterator[None]:
        """Process the cycles of a partition one after the other, and yield after each."""
        events = cycles.events
        states = states_of(events, cycles.warps)
        changed = states != np.concatenate([states_of(cycles.before, cycles.warps), states[:-1]])
        at, whose = np.nonzero(changed)
        changing = np.array(cycles.warps)[whose]
        changes = iter([*zip(at.tolist(), changing.tolist(), states[at, whose].tolist(), strict=True), (NONE, 0, 0)])
        changes_at, changes_warp, becomes = next(changes)
        names = ("cycle", "selected", "fetched", "resolved_warp", "turn", "written_warp", "written_register")
        columns = [events[name].tolist() for name in names]
        redirects = ((events["resolves"] != 0) & (events["redirects"] != 0)).tolist()
        ends = ((events["written"] != 0) & (events["written_last"] != 0)).tolist()
        selections = (cycles.pc, cycles.word, cycles.lanes, cycles.cause, cycles.missed)
        rows = zip(*columns, redirects, ends, *(each.tolist() for each in selections), strict=True)
        warps, swas, fetches, issues = self._warps, self._swas, mine.fetches, mine.issues
        for place, row in enumerate(rows):
            (cycle, selected, fetched, resolved, turn, writer, register, redirect, end,
             pc, word, lanes, cause, missed) = row
            self._go_on(mine)
            if end:
                # Before the issue: the instruction issued now may write the same register.
                self._write(warps[writer], cycle, register)
            if missed != NONE and not swas:
                self._flush(mine, missed, cycle, cycle - 1, "its fetch missed the I-cache")
            while changes_at == place:
                self._state(warps[changes_warp], becomes)
                changes_at, changes_warp, becomes = next(changes)
            issues.insert(0, "" if selected == NONE else self._issue(
                warps[selected], selected, cycle, pc, word, lanes, cause
            ))
            fetches.insert(0, "" if fetched == NONE else self._fetch(fetched, cycle))
            if not swas:
                if redirect:
                    self._flush(mine, resolved, cycle, 0, "control flow went elsewhere")
                if turn != NONE:
                    self._flush(mine, turn, cycle, cycle - _FETCH + 1, "after a jump that was followed at decode")
            yield

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        parts: list[str] = []
        # An instruction that has begun passes its remaining stages. One that never ends is closed in the last cycle.
        while self._ends or any(any(mine.fetches) or any(mine.issues) for mine in self._partitions):
            for mine in self._partitions:
                self._go_on(mine)
                mine.fetches.insert(0, "")
                mine.issues.insert(0, "")
            self._put(self._cycle, parts)
        if self._alive:
            parts += [f"L\t{number}\t0\t(the run is over)\n" for number in sorted(self._alive, key=int)]
            parts += [f"R\t{number}\t{self._retired}{_FLUSHED}" for number in sorted(self._alive, key=int)]
        self._sink.write("".join(parts).encode())

    def _go_on(self, mine: _Partition) -> None:
        """Begin a cycle: move each instruction fetched or issued earlier to its next stage."""
        lines, fetches, issues = self._lines, mine.fetches, mine.issues
        oldest, older = fetches.pop(), fetches[-1]
        if oldest:
            lines.append(f"S\t{oldest}\t0\tB\n")
        if older:
            lines.append(f"S\t{older}\t0\tD\n")
        executed, read = issues.pop(), issues[0]
        if executed:
            lines.append(f"S\t{executed}\t0\tX\n")
        if read:
            lines.append(f"S\t{read}\t0\tR\n")

    def _put(self, cycle: int, parts: list[str]) -> None:
        """End the cycle."""
        lines, ends = self._lines, self._ends.pop(cycle, None)
        self._cycle = cycle + 1
        if not lines and ends is None:
            return
        if cycle > self._told:
            parts.append(f"C\t{cycle - self._told}\n")
            self._told = cycle
        parts += lines
        lines.clear()
        for number, end in ends or ():
            parts.append(f"R\t{number}\t{self._retired}{end}")
            self._retired += end is _RETIRED

    def _fetch(self, warp: int, cycle: int) -> str:
        number = str(self._next)
        self._next += 1
        self._alive.add(number)
        self._lines.append(f"I\t{number}\t{number}\t{warp}\nS\t{number}\t0\tF\n")
        self._warps[warp].fetched.append((number, cycle))
        return number

    def _end(self, number: str, cycle: int, end: str) -> None:
        alive = self._alive
        if number in alive:
            alive.remove(number)
            self._ends[cycle].append((number, end))

    def _flush(self, partition: _Partition, warp: int, cycle: int, since: int, about: str) -> None:
        """Flush everything that the warp, one of the partition, has fetched since a cycle."""
        mine = self._warps[warp]
        while mine.fetched and mine.fetched[-1][1] >= since:
            number, _ = mine.fetched.pop()
            if number in partition.fetches:  # it does not reach its next stage
                partition.fetches[partition.fetches.index(number)] = ""
            self._lines.append(f"L\t{number}\t0\t(flushed: {about})\n")
            if mine.waits is not None and mine.waits[0] == number:
                mine.waits = None
            self._end(number, cycle, _FLUSHED)

    def _state(self, mine: _Warp, state: int) -> None:
        """From here on the warp waits for something else, or for nothing."""
        if mine.waits is not None:
            self._lines.append(f"E\t{mine.waits[0]}\t1\t{mine.waits[1]}\n")
            mine.waits = None
        if state not in (READY, INACTIVE) and mine.fetched:
            number, reason = mine.fetched[0][0], DETAILS[state - 1]
            mine.waits = number, reason
            self._lines.append(f"S\t{number}\t1\t{reason}\n")

    def _labels_of(self, warp: int, pc: int, word: int, lanes: int) -> tuple[str, str]:
        """Return the text after the id in both labels; the first ends where the id is repeated."""
        place = self._source(pc)
        about = f"warp {warp}, {lanes.bit_count()} of {self._config.threads} lanes ({lanes:#x}), word {word:#010x}"
        label = f"\t0\t{pc:08x}: {disassemble(word, pc)}\nL\t"
        self._labels[warp, pc, word, lanes] = label, f"\t1\t{about}" + (f", {place}\n" if place else "\n")
        self._registers[word] = registers_of(word)
        return self._labels[warp, pc, word, lanes]

    def _issue(self, mine: _Warp, warp: int, cycle: int, pc: int, word: int, lanes: int, cause: int) -> str:
        """Issue an instruction and return its id; empty if it is not executed."""
        lines, new = self._lines, ""
        if cause == Cause.START or not mine.fetched:
            number = str(self._next)
            self._next += 1
            self._alive.add(number)
            new = f"I\t{number}\t{number}\t{warp}\n"
        else:
            number, _ = mine.fetched.popleft()
        if cause:
            lines.append(f"{new}S\t{number}\t0\tI\nL\t{number}\t0\t{_ABOUT[Cause(cause)]}\n")
            self._end(number, cycle + 1, _FLUSHED)
            return ""
        if pc == NONE:
            lines.append(f"{new}S\t{number}\t0\tI\n")
            return ""  # the run is over before it is executed
        label, about = self._labels.get((warp, pc, word, lanes)) or self._labels_of(warp, pc, word, lanes)
        lines.append(f"{new}S\t{number}\t0\tI\nL\t{number}{label}{number}{about}")
        register, sources = self._registers[word]
        written = mine.written
        for each in sources:
            writer, when = written.get(each, _NEVER)
            if mine.writers[each]:
                writer, when = mine.writers[each][0], cycle + 1
            # It came just in time: the next instruction issued waited for it, or might have.
            if when >= cycle - 1:
                lines.append(f"W\t{number}\t{writer}\t0\n")
        if register is None:
            self._end(number, cycle + self._config.issue_latency + 1, _RETIRED)
        else:
            mine.writers[register].append(number)
        return number

    def _write(self, mine: _Warp, cycle: int, register: int) -> None:
        if mine.writers[register]:
            number = mine.writers[register].popleft()
            self._lines.append(f"S\t{number}\t0\tW\n")
            self._end(number, cycle + 1, _RETIRED)
            mine.written[register] = number, cycle
