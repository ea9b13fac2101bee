"""The functions of a program: their callers and arguments, which run on one lane, and which may wait at a barrier."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .assembly import Label, Lines, SimtError, Source
from .blocks import blocks_of
from .flow import Shape, entry_state
from .graph import Function
from .instructions import INTEGER, Instruction, mask
from .masks import one_header, separate_loops
from .uniformity import Uniformity, analyse

__all__ = ["Member", "Program"]

#: Runtime functions that wait at a barrier.
_RUNTIME_BARRIERS = {"block_sum", "block_sum_float"}
#: The runtime writes it before a kernel starts; kernels see a constant (workitem.h).
_CONSTANTS = {"__opencl_range"}
#: They start another function, their fourth argument, on all lanes.
_SPAWN = {"spawn_threads", "vx_spawn_threads"}
_ARGUMENTS = mask("a0 a1 a2 a3 a4 a5 a6 a7 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7")
_RESULTS = mask("a0 a1 fa0 fa1")
#: Custom instructions by number (isa.md): a function with one of these was written for lanes by hand.
_BY_HAND = {0, 1, 2, 3, 5}
_SPLIT, _JOIN, BARRIER = 2, 3, 4


@dataclass(eq=False)
class Member:
    """A function of the program, and the facts known about it so far."""

    source: Source
    lines: Lines
    #: Symbols that it calls, and registers that it calls through.
    called: set[str]
    by_hand: bool
    barrier: bool
    function: Function | None = None
    shape: Shape | None = None
    #: It would be refused for one of its barriers, so it is analysed again (:meth:`Program._look_again`).
    again: bool = False
    #: Only a single lane runs it.
    single: bool = False
    #: Code other than the runtime has its address.
    taken: bool = False
    #: The runtime starts it on all lanes, with the same argument for all.
    kernel: bool = False
    #: Argument registers that are the same in all lanes at every call.
    arguments: int = 0
    #: Registers that are the same in all lanes when it returns.
    results: int = 0
    found: Uniformity = field(default_factory=Uniformity)
    #: The inputs of that analysis: the registers that are uniform at the entry, and after each call.
    basis: object = None
    #: The result if all lanes of a warp are in one block, as they must be for a barrier to have a meaning.
    in_blocks: Uniformity = field(default_factory=Uniformity)

    def error(self, source: str, reason: str) -> SimtError:
        """Return an error for something in this function."""
        return SimtError(f"{source or self.lines.source or self.source.name}: in {self.lines.name}: {reason}")


class Program:
    """All functions, analysed.

    Parameters
    ----------
    sources
        The assembly files.
    everything
        Treat every conditional branch as divergent.
    whole
        No other code may call these functions.
    kernels
        Functions that code outside these files starts on all lanes, with the same argument for all.

    Raises
    ------
    SimtError
        For code that the pass cannot follow.
    """

    def __init__(
        self, sources: Sequence[Source], *, everything: bool, whole: bool, kernels: Collection[str] = ()
    ) -> None:
        self.everything, self.whole = everything, whole
        self.members = [_member(source, lines) for source in sources for lines in source.functions]
        self._sources = sources
        self._local: dict[tuple[int, str], Member] = {}
        self._visible: dict[str, list[Member]] = {}
        for member in self.members:
            self._local[id(member.source), member.lines.name] = member
            if member.lines.name in member.source.visible:
                self._visible.setdefault(member.lines.name, []).append(member)
        self._note_addresses(sources)
        for source in sources:
            for symbol in kernels:
                for one in self.resolve(source, source.labels.get(symbol, symbol)):
                    one.kernel = not one.taken
        self._find_barriers()
        self._find_single()
        self._find_started()
        for member in self.members:
            if not member.by_hand and not member.single:
                self._graph(member)
        if any(member.barrier for member in self.members):
            self._settle(in_blocks=True)
            self._look_again()
            for member in self.members:
                member.in_blocks = member.found
        self._settle(in_blocks=False)

    def resolve(self, source: Source, symbol: str) -> list[Member]:
        """Return the functions that a symbol may stand for in a file."""
        symbol = source.aliases.get(symbol, symbol)
        own = self._local.get((id(source), symbol))
        if own is not None and symbol not in source.visible:
            return [own]
        return self._visible.get(symbol, [] if own is None else [own])

    def waits(self, source: Source, symbol: str) -> bool:
        """Whether a call of it may wait at a barrier."""
        if symbol in INTEGER:
            return any(member.barrier for member in self.members if member.taken)
        own = self.resolve(source, symbol)
        return any(member.barrier for member in own) if own else symbol in _RUNTIME_BARRIERS

    def _note_addresses(self, sources: Iterable[Source]) -> None:
        uses: dict[int, int] = {}
        for member in self.members:
            for symbol, is_kernel in _addresses(member):
                for one in self.resolve(member.source, symbol):
                    uses[id(one)] = uses.get(id(one), 0) + (0 if is_kernel else 1)
                    one.kernel |= is_kernel
        for source in sources:
            for symbol in [*_in_data(source), *source.aliases]:
                for one in self.resolve(source, symbol):
                    uses[id(one)] = uses.get(id(one), 0) + 1
        for member in self.members:
            member.taken = uses.get(id(member), 0) > 0
            member.kernel &= not member.taken

    def _find_barriers(self) -> None:
        changed = True
        while changed:
            changed = False
            for member in self.members:
                if not member.barrier and any(self.waits(member.source, symbol) for symbol in member.called):
                    member.barrier = changed = True

    def _callers(self) -> dict[int, list[Member]]:
        callers: dict[int, list[Member]] = {id(member): [] for member in self.members}
        for member in self.members:
            for symbol in member.called:
                for one in self.resolve(member.source, symbol):
                    callers[id(one)].append(member)
        return callers

    def _find_single(self) -> None:
        """Mark ``main``, which runs on one lane, and the functions that only it calls."""
        callers = self._callers()
        if self.everything:
            return
        for member in self.members:
            is_main = member.lines.name == "main"
            known = is_main or (self._is_known(member) and bool(callers[id(member)]))
            member.single = known and not (member.taken or member.kernel or member.by_hand)
        changed = True
        while changed:
            changed = False
            for member in self.members:
                if member.single and not all(caller.single for caller in callers[id(member)]):
                    member.single, changed = False, True

    def _find_started(self) -> None:
        """Find kernels that are chosen at run time, if no code on several lanes calls through a pointer."""
        called = {symbol for member in self.members if not member.single for symbol in member.called}
        if self.whole and not called & INTEGER.keys() and not any(member.by_hand for member in self.members):
            for member in self.members:
                if member.taken:
                    member.taken, member.kernel = False, True

    def _is_known(self, member: Member) -> bool:
        """Whether all its callers are known."""
        return not member.taken and (self.whole or member.lines.name not in member.source.visible)

    def _look_again(self) -> None:
        """Reanalyse functions that would be refused for a barrier, in a way that costs too much for the others.

        Loops that share a header get one each. Products are analysed, and constants that are loaded again. Compared
        values are assumed to be in their range: if they are not, lanes may diverge at a branch without a split, which
        is a fault of the machine.
        """
        refused = [] if self.everything else [
            member for member in self.members if member.function is not None and any(
                self.is_barrier(member, item) for name in member.found.apart
                for item in member.function.blocks[name].instructions
            )
        ]
        for member in refused:
            member.again = True
            self._graph(member)
        if refused:
            self._settle(in_blocks=True)

    def is_barrier(self, member: Member, item: Instruction) -> bool:
        """Whether an instruction waits at a barrier, or calls a function that may."""
        return item.simt == BARRIER or (item.kind == "call" and self.waits(member.source, item.target))

    def _graph(self, member: Member) -> None:
        items = [item for item in member.lines.items if isinstance(item, Instruction)]
        straight = not any(item.kind in ("branch", "indirect", "call") and not item.inline for item in items)
        if straight and member.lines.problems:
            return
        for problem, source in member.lines.problems:
            raise member.error(source, problem)
        try:
            member.function = blocks_of(member.lines)
        except KeyError as error:
            raise member.error("", f"a jump into another function: {error.args[0]}") from None
        one_header(member.function)
        if member.again:
            separate_loops(member.function, [name for name, block in member.function.blocks.items()
                                             if any(self.is_barrier(member, item) for item in block.instructions)])
        member.shape = Shape(member.function, lambda symbol: member.again and self._is_constant(member.source, symbol))

    def _is_constant(self, source: Source, symbol: str) -> bool:
        """Whether the object of this name is never written while kernels run."""
        if symbol in source.constant:
            return source.constant[symbol]
        others = [one.constant[symbol] for one in self._sources if symbol in one.visible and symbol in one.constant]
        return symbol in _CONSTANTS or (bool(others) and all(others))

    def _settle(self, in_blocks: bool) -> None:
        """Analyse until no further argument or result is found to differ."""
        callers = self._callers()
        for member in self.members:
            member.basis = None
            member.results = _RESULTS if member.function is not None else 0
            if member.kernel:
                member.arguments = mask("a0") if self._is_known(member) and not callers[id(member)] else 0
            else:
                member.arguments = _ARGUMENTS if self._is_known(member) and callers[id(member)] else 0
        # A function that is not analysed may call with any arguments.
        for member in self.members:
            if member.function is None and not member.single:
                for symbol in member.called:
                    for one in self.resolve(member.source, symbol):
                        one.arguments = 0
        changed = True
        while changed:
            changed = False
            for member in self.members:
                if member.function is not None:
                    changed |= self._analyse(member, in_blocks)

    def _analyse(self, member: Member, in_blocks: bool) -> bool:
        assert member.shape is not None
        start = entry_state(member.arguments, in_blocks)
        results = {symbol: self._results(member.source, symbol) for symbol in member.called}
        if member.basis == (start, results):
            return False
        member.basis = start, results
        member.found = analyse(
            member.shape, start, results.__getitem__, self.everything, member.again,
            lambda block, reason: member.error(next(iter([one.source for one in block.instructions][-1:]), ""), reason),
        )
        changed = member.results & ~member.found.results != 0
        member.results &= member.found.results
        for call, divergent in member.found.calls:
            for callee in self.resolve(member.source, call.target):
                if callee.arguments & divergent:
                    callee.arguments &= ~divergent
                    changed = True
        return changed

    def _results(self, source: Source, symbol: str) -> int | None:
        """Registers that are the same in all lanes after a call; None for a function that no source may define."""
        found = self.resolve(source, symbol)
        if not found and (self.whole or symbol.startswith("__")):
            return None
        result = _RESULTS if found else 0
        for member in found:
            result &= member.results
        return result


def _member(source: Source, lines: Lines) -> Member:
    instructions = [item for item in lines.items if isinstance(item, Instruction)]
    calls = {item.target for item in instructions if item.kind == "call"}
    custom = [item for item in instructions if item.kind == "simt"]
    kinds = {item.simt for item in custom}
    ones = [item for item in custom if item.simt == _SPLIT and item.operands[-1] in ("sp", "x2")]
    joins = [item for item in custom if item.simt == _JOIN]
    by_hand = bool(kinds & _BY_HAND)
    if by_hand and len(ones) + len(joins) == sum(item.simt in _BY_HAND for item in custom) == 2 * len(ones):
        # Only SIMT_ONE_BY_ONE: without these its branch is an ordinary one, and may contain others or be inside them.
        by_hand = False
        lines.items = [item for item in lines.items if not isinstance(item, Instruction) or item not in [*ones, *joins]]
    return Member(source, lines, calls, by_hand, BARRIER in kinds)


def _addresses(member: Member) -> Iterator[tuple[str, bool]]:
    """The symbols whose address it takes, and whether only the runtime's spawn functions receive each."""
    fourth: str | None = None
    # Other labels are for the debugger.
    jumped_to = {item.target for item in member.lines.items if isinstance(item, Instruction)}
    for item in member.lines.items:
        if isinstance(item, Label) and fourth is not None and (item.taken or item.name in jumped_to):
            yield fourth, False
            fourth = None
        if not isinstance(item, Instruction):
            continue
        if item.kind == "call":
            if fourth is not None:
                yield fourth, item.target in _SPAWN
            fourth = None
        elif item.writes == mask("a3") and fourth is not None:
            yield fourth, False
            fourth = None
        for symbol in _symbols(item):
            if item.writes == mask("a3") and item.op == "addi":
                fourth = symbol
            else:
                yield symbol, False
    if fourth is not None:
        yield fourth, False


def _symbols(item: Instruction) -> list[str]:
    """Symbols whose address an instruction computes; ``lui`` computes half of one that ``addi`` completes."""
    if item.op in ("la", "lla"):
        return [item.operands[1].split("+")[0]]
    for part in ("%lo(", "%pcrel_hi(", "%got_pcrel_hi("):
        if part in item.text:
            return [item.text.split(part, 1)[1].split(")", 1)[0].split("+")[0]]
    return []


def _in_data(source: Source) -> Iterator[str]:
    """Symbols whose address is in a table."""
    for line in source.lines:
        words = line.split()
        if len(words) > 1 and words[0] in (".word", ".4byte", ".long") and not words[1][0].isdigit():
            yield words[1].split("+")[0]
