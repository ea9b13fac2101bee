"""Branches, jumps and other instructions that determine the pc of a warp.

The ``execute`` of a control instruction returns the next pc of its warps: one pc for all of them, or a dict from pc to
a bit mask of warps. A warp in none of the masks has ended or is waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from metronome.hdl.config import FaultCause

from .records import FaultError
from .state import State
from .view import DISCARD, View

__all__ = ["branch", "fault", "illegal", "jal", "jalr", "merge", "next_instruction"]

Next = int | dict[int, int]

_COMPARE = {
    "beq": (np.equal, False), "bne": (np.not_equal, False), "blt": (np.less, True), "bge": (np.greater_equal, True),
    "bltu": (np.less, False), "bgeu": (np.greater_equal, False),
}  # fmt: skip


def merge(*parts: tuple[int, int]) -> dict[int, int]:
    """Return a dict from pc to warps, made from (pc, warps) pairs; several pairs may have the same pc."""
    result: dict[int, int] = {}
    for pc, warps in parts:
        if warps:
            result[pc] = result.get(pc, 0) | warps
    return result


def _check_target(view: View, target: int, warp: int) -> None:
    if target & 3:
        raise FaultError(FaultCause.FETCH_MISALIGNED, warp, target)


def branch(name: str, rs1: int, rs2: int, offset: int) -> Callable[[State, View, int], Next]:
    """Return a conditional branch: one decision for each warp; it faults if active lanes disagree."""
    compare, signed = _COMPARE[name]

    def execute(state: State, view: View, pc: int) -> Next:
        operands = view.s if signed else view.r
        taken = compare(operands[rs1], operands[rs2])
        if not view.full:
            taken &= view.mask
        count = int(np.count_nonzero(taken))
        if count == 0:
            return pc + 4 & 0xFFFF_FFFF
        target = pc + offset & 0xFFFF_FFFF
        if count == view.lanes:
            _check_target(view, target, view.warps[0])
            return target
        per_warp = np.count_nonzero(taken, axis=1)
        jumps = per_warp != 0
        mixed = jumps & (per_warp != np.count_nonzero(view.mask, axis=1))
        if mixed.any():
            raise FaultError(FaultCause.DIVERGENT_BRANCH, view.first_warp(mixed))
        _check_target(view, target, view.first_warp(jumps))
        jumping = view.warp_bits(jumps)
        return merge((target, jumping), (pc + 4 & 0xFFFF_FFFF, view.bits & ~jumping))

    return execute


def jal(rd: int, offset: int) -> Callable[[State, View, int], Next]:
    """rd := pc + 4; pc := pc + ``offset``."""

    def execute(state: State, view: View, pc: int) -> Next:
        target = pc + offset & 0xFFFF_FFFF
        _check_target(view, target, view.warps[0])
        if rd != DISCARD:
            view.put(rd, pc + 4 & 0xFFFF_FFFF)
        return target

    return execute


def jalr(rd: int, rs1: int, imm: int) -> Callable[[State, View, int], Next]:
    """rd := pc + 4; pc := rs1 + ``imm`` with bit 0 cleared; all active lanes of a warp must agree."""
    offset = np.array(imm & 0xFFFF_FFFF, np.uint32)
    clear = np.uint32(0xFFFF_FFFE)

    def execute(state: State, view: View, pc: int) -> Next:
        targets = (view.r[rs1] + offset) & clear
        active = view.active(targets)
        target = int(active[0])
        if (active == target).all():
            _check_target(view, target, view.warps[0])
            result: Next = target
        else:
            result = _jalr_by_warp(view, targets)
        if rd != DISCARD:
            view.put(rd, pc + 4 & 0xFFFF_FFFF)
        return result

    return execute


def _jalr_by_warp(view: View, targets: np.ndarray) -> dict[int, int]:
    result: dict[int, int] = {}
    for warp in view.warps:
        row = warp - view.first_row
        active = targets[row][view.mask[row]]
        target = int(active[0])
        if (active != target).any():
            raise FaultError(FaultCause.DIVERGENT_BRANCH, warp)
        _check_target(view, target, warp)
        result[target] = result.get(target, 0) | 1 << warp
    return result


def next_instruction(state: State, view: View, pc: int) -> None:
    """Execute an instruction without effect in this model: fence, fence.i, mret, or a computation into x0."""


def fault(cause: FaultCause) -> Callable[[State, View, int], NoReturn]:
    """Return an instruction that always faults with address 0 (ecall, ebreak)."""

    def execute(state: State, view: View, pc: int) -> NoReturn:
        raise FaultError(cause, view.warps[0])

    return execute


def illegal(word: int) -> Callable[[State, View, int], NoReturn]:
    """Return an instruction that faults as illegal; the address of the fault is the word."""

    def execute(state: State, view: View, pc: int) -> NoReturn:
        raise FaultError(FaultCause.ILLEGAL_INSTRUCTION, view.warps[0], word)

    return execute
