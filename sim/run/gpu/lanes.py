"""The lanes of a fault: those whose operands caused it."""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import FaultCause

from ...machine.golden import Fault
from ..lane_words import lanes_of

__all__ = ["fault_lanes"]

_ACCESSES = frozenset((FaultCause.LOAD_ACCESS, FaultCause.STORE_ACCESS, FaultCause.LOAD_MISALIGNED,
                       FaultCause.STORE_MISALIGNED))
#: Opcodes: stores, which have their offset in two parts, and jalr.
_STORES, _JALR = (0x23, 0x27), 0x67
#: Bits of a branch's function: it compares for less, not for equal; as unsigned numbers.
_LESS, _UNSIGNED = 4, 2


def fault_lanes(fault: Fault, word: int, registers: np.ndarray, mask: int) -> list[int]:
    """Return the lanes of a fault.

    They are those that access its address. For a branch or jump whose lanes disagree, they are those that disagree with
    the lowest active lane. For any other fault they are all active lanes.

    ``word``: the instruction; ``registers``: (64, threads), before it; ``mask``: the active lanes.
    """
    active = lanes_of(mask)
    if fault.cause in _ACCESSES:
        found = [lane for lane in active if _address(word, registers, lane) == fault.address]
    elif fault.cause is FaultCause.DIVERGENT_BRANCH:
        ways = _ways(word, registers)
        found = [lane for lane in active if ways[lane] != ways[active[0]]]
    else:
        found = active
    # An instruction that has changed since it was issued tells nothing.
    return found or active


def _address(word: int, registers: np.ndarray, lane: int) -> int:
    high = word >> 20 & 0xFE0 | (word >> 7 & 0x1F if word & 0x7F in _STORES else word >> 20 & 0x1F)
    return int(registers[word >> 15 & 0x1F, lane]) + high - (word >> 31 << 12) & 0xFFFF_FFFF


def _ways(word: int, registers: np.ndarray) -> np.ndarray:
    """By lane, where a jump goes or whether a branch is taken; a branch that is inverted separates the same lanes."""
    first, second = registers[word >> 15 & 0x1F], registers[word >> 20 & 0x1F]
    if word & 0x7F == _JALR:
        offset = (word >> 20) - (word >> 31 << 12) & 0xFFFF_FFFF
        return first + np.uint32(offset) & np.uint32(0xFFFF_FFFE)
    if not word >> 12 & _LESS:
        return first == second
    if word >> 12 & _UNSIGNED:
        return first < second
    return first.view(np.int32) < second.view(np.int32)
