"""Conditions of divergent branches, as bit 0 of a register."""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Block, Insertion, Virtual
from .instructions import CONDITIONS, ZERO, Instruction

__all__ = ["Predicate", "predicate"]


@dataclass(frozen=True)
class Predicate:
    """A register whose bit 0 decides the branch: it is taken where the bit is 1 if ``taken``, else where it is 0."""

    register: Virtual | int
    taken: bool


def predicate(block: Block) -> tuple[list[Insertion], Predicate]:
    """Return the condition of the block's branch, and the instructions that compute it before the branch."""
    condition, left, right = _condition(block.branch)
    if right == ZERO and condition in ("eq", "ne"):
        if _is_boolean(block, left):
            return [], Predicate(left, condition == "ne")
        result = Virtual("condition")
        op = "seqz" if condition == "eq" else "snez"
        return [Insertion(f"{op}\t{{0}}, {{1}}", (result,), (left,))], Predicate(result, True)
    result = Virtual("condition")
    if condition in ("eq", "ne"):
        # Both in one register: it is dead between them.
        return [
            Insertion("xor\t{0}, {1}, {2}", (result,), (left, right)),
            Insertion("seqz\t{0}, {1}", (result,), (result,)),
        ], Predicate(result, condition == "eq")
    if condition[:2] in ("gt", "le"):
        left, right = right, left
    op = "sltu" if condition.endswith("u") else "slt"
    made = Insertion(f"{op}\t{{0}}, {{1}}, {{2}}", (result,), (left, right))
    return [made], Predicate(result, condition[:2] in ("lt", "gt"))


def _condition(branch: Instruction | Insertion | None) -> tuple[str, Virtual | int, Virtual | int]:
    if isinstance(branch, Insertion):
        return CONDITIONS[branch.text.split("\t")[0]], branch.reads[0], ZERO
    assert branch is not None
    registers = branch.registers
    return CONDITIONS[branch.op], registers[0], registers[1] if len(registers) > 1 else ZERO


def _is_boolean(block: Block, wanted: Virtual | int) -> bool:
    for item in reversed(block.items):
        if isinstance(item, Instruction) and isinstance(wanted, int) and item.writes >> wanted & 1:
            return item.is_boolean
        if isinstance(item, Insertion) and wanted in item.writes:
            return False
    return False
