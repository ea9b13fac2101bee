"""The pass: assembly in, assembly with splits, joins and masks out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .assembly import Label, Lines, SimtError, Source, assembled, split_source, write
from .blocks import blocks_of
from .graph import Function
from .instructions import Instruction, mask
from .masks import mask_loops, one_header
from .places import place_values
from .splits import split_branches
from .uniformity import Calls, Uniformity, analyse, entry_state

__all__ = ["insert_divergence"]

#: Functions of the runtime that wait at a barrier.
_RUNTIME_BARRIERS = {"block_sum", "block_sum_float"}
#: They start other functions on all lanes; the function is the fourth argument.
_SPAWN = {"spawn_threads", "vx_spawn_threads"}
_ARGUMENTS = mask("a0 a1 a2 a3 a4 a5 a6 a7 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7")
#: Custom instructions by number (isa.md): a function with one of these has been written for lanes by hand.
_BY_HAND = {0, 1, 2, 3, 5}
_BARRIER = 4


_APART = "where lanes of a warp may have parted: all must reach it together"


@dataclass
class _Member:
    """A function of the program, and what is known of it so far."""

    source: Source
    lines: Lines
    #: Symbols it calls.
    called: set[str]
    indirect: bool
    by_hand: bool
    barrier: bool
    function: Function | None = None
    #: One lane alone runs it.
    single: bool = False
    #: Argument registers that are the same in all lanes at every call.
    arguments: int = _ARGUMENTS
    #: Registers that are the same in all lanes when it returns.
    results: int = mask("a0 a1 fa0 fa1")
    found: Uniformity = field(default_factory=Uniformity)


def insert_divergence(texts: Sequence[str], *, everything: bool = False) -> list[str]:
    """Make branches that lanes disagree about right, in all assembly files of a program.

    Parameters
    ----------
    texts
        What clang writes with the flags of ``sim.toolchain``, a file each.
    everything
        Take every conditional branch for divergent (to test the pass).

    Returns
    -------
    The files in the same order. A function in which nothing is needed is as it was, and so is one with ``split``,
    ``join``, ``pred``, ``tmc`` or ``wspawn`` of its own.

    Raises
    ------
    SimtError
        For what cannot be made right: one line with source line and function.
    """
    sources = [split_source(text) for text in texts]
    program = _Program(sources, everything)
    bodies: list[list[tuple[Lines, list[str]]]] = [[] for _ in sources]
    for member in program.members.values():
        lines = program.body(member)
        if lines is not None:
            bodies[sources.index(member.source)].append((member.lines, lines))
    return [
        assembled(source, changed) if changed else text
        for source, changed, text in zip(sources, bodies, texts, strict=True)
    ]


class _Program:
    def __init__(self, sources: Sequence[Source], everything: bool) -> None:
        self.everything = everything
        self.members = {lines.name: _member(source, lines) for source in sources for lines in source.functions}
        self.kernels, self.taken = _references(sources, self.members)
        self._find_barriers()
        self._find_single()
        for member in self.members.values():
            if not member.by_hand and not member.single:
                self._graph(member)
        self._settle()

    def _find_barriers(self) -> None:
        changed = True
        while changed:
            changed = False
            for member in self.members.values():
                if not member.barrier and any(self.waits(symbol) for symbol in member.called):
                    member.barrier = changed = True

    def waits(self, symbol: str) -> bool:
        """Whether a call of it waits at a barrier."""
        member = self.members.get(symbol)
        return member.barrier if member else symbol in _RUNTIME_BARRIERS

    def _find_single(self) -> None:
        """``main`` runs on one lane, and so does what only it calls."""
        callers: dict[str, list[str]] = {}
        for name, member in self.members.items():
            for symbol in member.called:
                callers.setdefault(symbol, []).append(name)
        single = {name for name in self.members if name == "main" or callers.get(name)}
        single -= self.taken | self.kernels
        single -= {name for name in single if self.members[name].by_hand}
        changed = not self.everything
        while changed:
            several = {name for name in single if not set(callers.get(name, ())) <= single}
            single -= several
            changed = bool(several)
        for name in single if not self.everything else ():
            self.members[name].single = True

    def _graph(self, member: _Member) -> None:
        lines = member.lines
        kinds = {item.kind for item in lines.items if isinstance(item, Instruction)}
        if not kinds & {"branch", "indirect", "call"}:
            return
        for problem, place in lines.problems:
            raise self._error(member, place, problem)
        try:
            member.function = blocks_of(lines)
        except KeyError as error:
            raise self._error(member, lines.place, f"a jump into another function: {error.args[0]}") from None
        one_header(member.function)

    def _error(self, member: _Member, place: str, reason: str) -> SimtError:
        return SimtError(f"{member.source.where(place)}: in {member.lines.name}: {reason}")

    def _settle(self) -> None:
        """Analyse until no argument and no result is known to differ that was not before."""
        for name, member in self.members.items():
            if name in self.taken or name == "main":
                member.arguments = 0
            elif name in self.kernels:
                member.arguments = mask("a0")
        changed = True
        while changed:
            changed = False
            for member in self.members.values():
                if member.function is not None:
                    changed |= self._analyse(member)

    def _analyse(self, member: _Member) -> bool:
        assert member.function is not None
        member.found = analyse(
            member.function, entry_state(member.arguments, member.barrier), Calls(self._results, self.waits),
            self.everything, lambda block, reason: self._error(member, block.place, reason),
        )
        changed = member.results & ~member.found.results != 0
        member.results &= member.found.results
        for call, state in member.found.calls:
            callee = self.members.get(call.target)
            if callee is not None and callee.arguments & state.divergent:
                callee.arguments &= ~state.divergent
                changed = True
        return changed

    def _results(self, symbol: str) -> int:
        member = self.members.get(symbol)
        return member.results if member and member.function is not None else 0

    def body(self, member: _Member) -> list[str] | None:
        """The lines of the function as it shall be, or None if nothing is needed."""
        function, found = member.function, member.found
        if function is None:
            return None
        self._check(member)
        made_header = any(block.name.endswith("dispatch") for block in function.blocks.values())
        if not found.divergent and not found.loops and not made_header:
            return None
        for name in found.divergent:
            function.blocks[name].divergent = True
        mask_loops(function, found.loops)
        split_branches(function)
        return write(function, place_values(function))

    def _check(self, member: _Member) -> None:
        """Refuse what goes wrong where lanes have parted."""
        function, found = member.function, member.found
        assert function is not None
        states = {id(call): state for call, state in found.calls}
        for name, block in function.blocks.items():
            for item in block.instructions:
                if item.kind == "indirect" and not self.everything and name in found.divergent:
                    raise self._error(member, item.place, "a jump through a register that may differ between lanes")
                if name in found.apart and not self.everything:
                    self._check_apart(member, item)
                if item.kind == "call" and item.target in _REGISTERS and id(item) in states:
                    if states[id(item)].divergent >> _REGISTERS[item.target] & 1:
                        raise self._error(member, item.place, "a call through a pointer that may differ between lanes")

    def _check_apart(self, member: _Member, item: Instruction) -> None:
        if item.simt == _BARRIER:
            raise self._error(member, item.place, f"a barrier {_APART}")
        if item.kind != "call":
            return
        pointer = item.target in _REGISTERS
        if self.waits(item.target) or (pointer and any(self.members[name].barrier for name in self.taken)):
            what = "a call through a pointer, to what may wait" if pointer else f"a call of {item.target}, which waits"
            raise self._error(member, item.place, f"{what} at a barrier, {_APART}")


def _member(source: Source, lines: Lines) -> _Member:
    instructions = [item for item in lines.items if isinstance(item, Instruction)]
    custom = {item.simt for item in instructions if item.kind == "simt"}
    calls = {item.target for item in instructions if item.kind == "call"}
    return _Member(
        source, lines, calls, bool(calls & set(_REGISTERS)), bool(custom & _BY_HAND), _BARRIER in custom
    )


def _references(sources: Iterable[Source], members: dict[str, _Member]) -> tuple[set[str], set[str]]:
    """Functions that only the runtime's spawn functions get the address of, and those that others may call by it."""
    kernels: set[str] = set()
    counted: dict[str, int] = {}
    for member in members.values():
        fourth = None
        for item in member.lines.items:
            if isinstance(item, Label):
                fourth = None
            if not isinstance(item, Instruction):
                continue
            for name in _addressed(item):
                counted[name] = counted.get(name, 0) + 1
                if item.writes == mask("a3"):
                    fourth = name
            if item.kind == "call":
                if item.target in _SPAWN and fourth in members:
                    kernels.add(str(fourth))
                    counted[str(fourth)] -= 1
                fourth = None
    taken = {name for name, count in counted.items() if count and name in members}
    for source in sources:
        taken |= _in_data(source, members)
    return kernels - taken, taken


def _addressed(item: Instruction) -> list[str]:
    text = item.text
    if "%lo(" not in text:
        return []
    return [text.split("%lo(", 1)[1].split(")", 1)[0].split("+")[0]]


def _in_data(source: Source, members: dict[str, _Member]) -> set[str]:
    """Functions whose address stands in a table."""
    found = set()
    for line in source.lines:
        words = line.split()
        if len(words) == 2 and words[0] in (".word", ".4byte", ".long") and words[1] in members:
            found.add(words[1])
    return found


_REGISTERS = {name: number for number, name in enumerate(
    "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()
)}
