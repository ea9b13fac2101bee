"""The state of each warp when a program was cut off, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason

from ..machine.memory.store import SparseMemory
from .types import WarpState

__all__ = ["hanging_warps"]

#: The opcode of the SIMT instructions, and the number in its place that selects wspawn (docs/isa.md).
_SIMT, _FUNCTION, _WSPAWN = 0x0B, 0x7000, 0x1000


def _wait(reason: StallReason, word: int, deadlock: bool, known: str | None) -> str:
    """Return what a warp whose last instruction was ``word`` waits for, if that says more than the stall reason.

    ``known``: the golden model's account.
    """
    if reason is StallReason.BARRIER:
        if known is not None:
            return f"waits: {known}"
        spawns = word & 0x7F == _SIMT and word & _FUNCTION == _WSPAWN
        return "waits: in wspawn, to be the only active warp" if spawns else ""
    return "jumps to itself" if deadlock else ""


def hanging_warps(
    config: SmConfig, memory: SparseMemory, *, active: int, reasons: Sequence[int], pcs: Sequence[int],
    starved: Mapping[str, tuple[str, int]], deadlock: bool, waits: Mapping[int, str],
) -> list[WarpState]:
    """Return the state of each warp.

    ``active``: a bit for each warp; ``reasons``, ``pcs``: the StallReason and the pc issued last, by warp. ``starved``:
    by stage, its policy and the warps it has passed over. ``waits``: the golden model's account of waiting warps.
    """
    states = []
    for warp in range(config.warps):
        reason, pc = StallReason(reasons[warp]), pcs[warp]
        word = memory.read_word(pc) if pc % 4 == 0 and memory.contains(pc, 4) else 0
        states.append(WarpState(
            warp, bool(active >> warp & 1), reason, pc,
            {stage: policy for stage, (policy, warps) in starved.items() if warps >> warp & 1},
            _wait(reason, word, deadlock, waits.get(warp)),
        ))
    return states
