"""Flow facts from the user: bounds of loops, and code that is never executed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from metronome.hdl.isa.ops import BranchOp, Unit

from ...program.elf import ElfImage
from ..code.loops import Function, target_of
from ..code.program import AnalyzedProgram

__all__ = ["Fact", "FactError", "FactMonitor", "Facts", "FunctionFacts", "LoopMark", "Rule", "marks_of"]

#: The ELF section that METRONOME_LOOP_BOUND writes: pc, bound and number of each mark in its source (metronome.h).
SECTION = ".metronome.loops"
_WORDS = 3


@dataclass(frozen=True)
class LoopMark:
    """A METRONOME_LOOP_BOUND before the instruction at ``pc``. Copies of one macro have the same ``number``."""

    pc: int
    most: int
    number: int


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule from a flow-fact file, for the place at an ``address`` or a source ``line`` (``file:line``).

    ``most``: the most iterations of a loop for each entry; None if the place is never executed. ``within``: the entry
    of the only function to which the rule applies; None if it applies to all. ``text``: the rule as written.
    """

    text: str
    most: int | None
    address: int | None = None
    line: str | None = None
    within: int | None = None


@dataclass(frozen=True)
class Fact:
    """A fact about one place, from a ``macro`` or ``file``. ``most``: as in :class:`Rule`. ``text``: for messages."""

    origin: str
    most: int | None
    text: str

    @property
    def passes(self) -> int:
        """The most passes of the loop's header: one more than the iterations, because the last pass leaves the loop."""
        assert self.most is not None
        return self.most + 1


@dataclass
class FunctionFacts:
    """The facts about one function: bounds of ``loops`` by header, and by pc the places ``never`` executed."""

    function: Function
    loops: dict[int, Fact] = field(default_factory=dict)
    never: dict[int, Fact] = field(default_factory=dict)

    def add(self, header: int, fact: Fact) -> None:
        """Add a bound of a loop. If a loop has several, the lowest applies."""
        before = self.loops.get(header)
        if before is None or before.passes > fact.passes:
            self.loops[header] = fact


class FactError(Exception):
    """A flow fact that matches no place or no unique place. The message is one line."""


class Facts:
    """The facts about a program: ``marks`` in its code and ``rules`` from a file.

    ``lines``: returns the source lines of a pc as ``file:line``, innermost last.
    """

    def __init__(self, marks: Sequence[LoopMark], rules: Sequence[Rule], lines: Callable[[int], Sequence[str]]) -> None:
        self._marks, self._rules, self._lines = marks, rules, lines
        self._program: AnalyzedProgram | None = None
        self.tables: dict[int, FunctionFacts] = {}
        #: The facts that ended a path, by header or pc. The bound rests on them.
        self.used: dict[int, Fact] = {}
        #: The reason why the macros in a loop are ignored, by loop header.
        self.unclear: dict[int, str] = {}
        #: The rules that match a place.
        self.found: set[Rule] = set()

    def of(self, program: AnalyzedProgram, entry: int) -> FunctionFacts:
        """Return the facts about the function at ``entry``.

        Raises
        ------
        FactError
            If a rule matches two nested loops.
        """
        if program is not self._program:
            self._program = program
            self.tables.clear()
        table = self.tables.get(entry)
        if table is None:
            table = self.tables[entry] = self._make(program, program.function(entry))
        return table

    def _make(self, program: AnalyzedProgram, function: Function) -> FunctionFacts:
        table = FunctionFacts(function)
        copies = Counter(
            (mark.number, function.loops[mark.pc][-1]) for mark in self._marks if function.loops.get(mark.pc)
        )
        for mark in self._marks:
            around = function.loops.get(mark.pc)
            if not around:
                continue
            if copies[mark.number, around[-1]] > 1:
                self.unclear[around[-1]] = (
                    "it has several copies of one METRONOME_LOOP_BOUND, so either it or a loop inside it was "
                    "unrolled: give its bound with --flow-facts, or do not unroll"
                )
            elif function.goes_back(around[-1]) > 1:
                self.unclear[around[-1]] = (
                    "several branches go back to its beginning, so METRONOME_LOOP_BOUND may belong to another loop "
                    "that begins there: give the address and the bound of both together with --flow-facts"
                )
            else:
                lines = self._lines(mark.pc)
                where = f" at {lines[-1]}" if lines else ""
                table.add(around[-1], Fact("macro", mark.most, f"METRONOME_LOOP_BOUND({mark.most}){where}"))
        for rule in self._rules:
            if rule.within in (None, function.entry):
                self._apply(program, table, rule)
        return table

    def _apply(self, program: AnalyzedProgram, table: FunctionFacts, rule: Rule) -> None:
        function = table.function
        fact = Fact("file", rule.most, rule.text)
        if rule.most is None:
            places = [pc for pc in function.place if pc == rule.address or self._at(pc, rule.line)]
            table.never |= dict.fromkeys(places, fact)
        else:
            headers = sorted({header for around in function.loops.values() for header in around})
            places = [
                each for each in headers if each == rule.address or self._matches(program, function, each, rule.line)
            ]
            for each in places:
                if any(other != each and other in function.loops[each] for other in places):
                    raise FactError(f"{rule.text}: two nested loops are on this line: give the address of the loop")
                if rule.line is not None and function.goes_back(each) > 1:
                    raise FactError(
                        f"{rule.text}: several branches go back to the beginning of the loop, which may be two "
                        f"loops: give its address, {each:#x}, and the bound of all together"
                    )
                table.add(each, fact)
        if places:
            self.found.add(rule)

    def _at(self, pc: int, line: str | None) -> bool:
        """Return whether the instruction at ``pc`` belongs to a source line."""
        return line is not None and any(_same_line(each, line) for each in self._lines(pc)[-1:])

    def _matches(self, program: AnalyzedProgram, function: Function, header: int, line: str | None) -> bool:
        """Return whether a loop's header, or a branch that ends or repeats it, belongs to a source line."""
        if line is None:
            return False
        if self._at(header, line):
            return True
        for pc, around in function.loops.items():
            code = program.look(pc)
            if around[-1:] != (header,) or code is None or code.unit is not Unit.BRANCH:
                continue
            target = target_of(code, pc)
            ways = [target] if code.row.op is BranchOp.JAL else [target, pc + 4]
            ends = any(way is not None and header not in function.loops.get(way, ()) for way in ways)
            if (ends or header in ways) and self._at(pc, line):
                return True
        return False

    def require_places(self, program: AnalyzedProgram, entries: Iterable[int]) -> None:
        """Raise FactError for a rule that matches nothing in the functions at ``entries``; name the nearest place."""
        if not self._rules:
            return
        loops: dict[int, str] = {}
        code: dict[int, str] = {}
        named = {rule.within for rule in self._rules if rule.within is not None}
        for entry in sorted({*entries, *named}):
            function = self.of(program, entry).function
            for header in {header for around in function.loops.values() for header in around}:
                loops[header] = next(iter(self._lines(header)[-1:]), "")
            code |= {pc: next(iter(self._lines(pc)[-1:]), "") for pc in function.place}
        for rule in self._rules:
            if rule not in self.found:
                what = "no loop" if rule.most is not None else "no code"
                raise FactError(f"{rule.text} matches {what}; {_nearest(rule, code if rule.most is None else loops)}")
        # From here on, a rule counts as found only if the analysis reaches its place.
        self.found.clear()
        self.tables.clear()

    @property
    def unused_rules(self) -> list[Rule]:
        """The rules that match no code that the analysis reached."""
        return [rule for rule in self._rules if rule not in self.found]


def _same_line(own: str, asked: str) -> bool:
    """Return whether two ``file:line`` name the same place, in any spelling or with only the end of the path."""
    if own == asked or own.endswith(f"/{asked}"):
        return True
    (file, _, line), (asked_file, _, asked_line) = own.rpartition(":"), asked.rpartition(":")
    if line != asked_line or not os.path.isabs(asked_file):
        return False
    return os.path.realpath(file) == asked_file or (not os.path.isabs(file) and asked_file.endswith(f"/{file}"))


def _nearest(rule: Rule, places: Mapping[int, str]) -> str:
    """Describe the place nearest to a rule; ``places``: source lines by pc."""
    if not places:
        return "the program has none"
    if rule.line is None:
        near = min(places, key=lambda pc: (abs(pc - (rule.address or 0)), pc))
    else:
        file, _, line = rule.line.rpartition(":")

        def far(pc: int) -> tuple[bool, int, int]:
            own, _, number = places[pc].rpartition(":")
            other = os.path.basename(own) != os.path.basename(file)
            return other, abs(int(number or 0) - int(line)), pc

        near = min(places, key=far)
    return f"the nearest is at {places[near] or 'no known line'}, address {near:#x}"


class FactMonitor:
    """Watches a run of the golden model (:class:`sim.machine.golden.watch.Recorder`) for contradictions of the facts.

    ``contradiction``: the text and pc of the first one, or None.
    """

    def __init__(self, facts: Facts, warps: int) -> None:
        self._counts: list[dict[int, int]] = [{} for _ in range(warps)]
        self._headers: dict[int, Fact] = {}
        self._never: dict[int, Fact] = {}
        #: For each pc, the headers of loops that do not contain it.
        self._outside: dict[int, list[int]] = {}
        for table in facts.tables.values():
            self._never |= table.never
            for header, fact in table.loops.items():
                self._headers[header] = fact
                for pc in table.function.place:
                    if header not in table.function.loops.get(pc, ()):
                        self._outside.setdefault(pc, []).append(header)
        self.contradiction: tuple[str, int] | None = None

    def executed(self, pc: int, warps: int, epoch: int, masks: np.ndarray) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`."""
        outside, fact = self._outside.get(pc), self._headers.get(pc)
        if pc in self._never:
            self._note(f"a run executes code that is never executed according to {self._never[pc].text}", pc)
        if outside is None and fact is None:
            return
        for warp, counts in enumerate(self._counts):
            if not warps >> warp & 1:
                continue
            for header in outside or ():
                counts.pop(header, None)
            if fact is not None:
                counts[pc] = counts.get(pc, 0) + 1
                if counts[pc] > fact.passes:
                    self._note(f"a run executes {counts[pc] - 1} iterations of a loop, which contradicts "
                               f"{fact.text}", pc)

    def _note(self, text: str, pc: int) -> None:
        if self.contradiction is None:
            self.contradiction = text, pc

    def access(self, addresses: np.ndarray, data: np.ndarray | None) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`: ignored."""

    def arguments(self, warp: int, first: int, second: int) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`: ignored."""

    def volatile(self, pc: int) -> None:
        """See :class:`sim.machine.golden.watch.Recorder`: ignored."""


def marks_of(image: ElfImage) -> list[LoopMark]:
    """Read the METRONOME_LOOP_BOUND marks of a program; an image without ELF sections has none."""
    if not image.content:
        return []
    import io

    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(image.content)).get_section_by_name(SECTION)
    if section is None:
        return []
    data = section.data()
    words = np.frombuffer(data[: len(data) // 4 * 4], "<u4").reshape(-1, _WORDS).tolist()
    return [LoopMark(*each) for each in words]
