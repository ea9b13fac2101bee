"""The divergence pass: insert splits, joins and masks into assembly."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .assembly import Lines, assembled, split_source, write
from .graph import Block
from .instructions import INTEGER, SP, Instruction
from .masks import mask_loops
from .places import TooManyValues, place_values
from .program import BARRIER, Member, Program
from .splits import split_branches

__all__ = ["insert_divergence"]

_APART = "where lanes of a warp may have diverged: all must reach it together"


def insert_divergence(
    texts: Sequence[str], *, everything: bool = False, whole: bool = True, kernels: Collection[str] = ()
) -> list[str]:
    """Make divergent branches correct in all assembly files of a program.

    Parameters
    ----------
    texts
        The output of clang with the flags of ``sim.program.compiler.elf_cache``, one text for each file.
    everything
        Treat every conditional branch as divergent (to test the pass).
    whole
        No other code calls functions in these files, except for the runtime, which calls ``main``.
    kernels
        Further functions that the runtime starts on all lanes, with the same argument for all.

    Returns
    -------
    The files in the same order. A function is unchanged if it needs nothing, or if it has ``split``, ``join``,
    ``pred``, ``tmc`` or ``wspawn`` of its own.

    Raises
    ------
    SimtError
        For code that cannot be made correct: one line with source line and function.
    """
    sources = [split_source(text) for text in texts]
    program = Program(sources, everything=everything, whole=whole, kernels=kernels)
    bodies: dict[int, list[tuple[Lines, list[str]]]] = {id(source): [] for source in sources}
    for member in program.members:
        if member.function is not None:
            if not everything:
                _check(program, member)
            lines = _body(member)
            if lines is not None:
                bodies[id(member.source)].append((member.lines, lines))
    return [
        assembled(source, bodies[id(source)]) if bodies[id(source)] else text
        for source, text in zip(sources, texts, strict=True)
    ]


def _body(member: Member) -> list[str] | None:
    """Return the function's new lines, or None if it needs no change."""
    function, found = member.function, member.found
    assert function is not None
    made_header = any(block.made for block in function.blocks.values())
    if not found.divergent and not found.loops and not made_header:
        return None
    for name in found.divergent:
        function.blocks[name].divergent = True
    mask_loops(function, found.loops)
    split_branches(function)
    try:
        return write(function, place_values(function))
    except TooManyValues:
        reason = "more divergent branches around calls than there is room for: use several functions"
        raise member.error("", reason) from None


def _check(program: Program, member: Member) -> None:
    """Refuse instructions that fail after lanes have diverged."""
    function, found = member.function, member.found
    assert function is not None
    if member.barrier:
        # The lanes of a warp are assumed to be in one block, as barriers otherwise have no meaning. If they are not, a
        # divergent jump is a fault of the machine.
        found = member.in_blocks
    differ = {id(call): divergent for call, divergent in found.calls}
    for name, block in function.blocks.items():
        cause = member.in_blocks.apart.get(name)
        for item in block.instructions:
            if item.kind == "indirect" and (name in found.divergent or (found.loops and name in found.apart)):
                raise member.error(item.source, "a jump through a register that may differ between lanes")
            if cause is not None and program.is_barrier(member, item):
                raise member.error(item.source, f"{_barrier(item)} {_APART}{_where(function.blocks[cause])}")
            if item.kind == "call" and item.target in INTEGER and differ.get(id(item), 0) >> INTEGER[item.target] & 1:
                raise member.error(item.source, "a call through a pointer that may differ between lanes")


def _barrier(item: Instruction) -> str:
    if item.simt == BARRIER:
        return "a barrier"
    if item.target in INTEGER:
        return "a call through a pointer, to a function that may wait at a barrier,"
    return f"a call of {item.target}, which waits at a barrier,"


def _where(block: Block) -> str:
    """Where lanes diverge, and why, as far as the block's own instructions show."""
    if not isinstance(block.branch, Instruction) or not block.branch.source:
        return ""
    wanted = block.branch.reads
    for item in reversed([item for item in block.items if isinstance(item, Instruction)]):
        if item.writes & wanted:
            if item.base is not None and item.base[0] == SP and not item.spill:
                return (f". They may diverge at {block.branch.source}, because of a value in the thread's own "
                        "memory, which may differ between lanes (use -O1 or higher, and no volatile)")
            wanted = wanted & ~item.writes | item.reads
    return f". They may diverge at {block.branch.source}"
