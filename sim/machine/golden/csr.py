"""The CSRs (isa.md): the value of each, and the writes that have an effect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metronome.hdl.config import FaultCause

from .records import FaultError
from .state import State
from .view import DISCARD, View

__all__ = ["access", "is_volatile", "unknown"]

FFLAGS, FRM, FCSR = 0x001, 0x002, 0x003
MSCRATCH, MREGION, MORDER, MPOLICY = 0x340, 0x7C0, 0x7C1, 0x7C2
MCYCLE, MINSTRET = 0xB00, 0xB02
HIGH = 0x80
#: MXL = 1 (32 bits); extensions I, M, X (non-standard), and F with an FPU.
MISA = 1 << 30 | 1 << 8 | 1 << 12 | 1 << 23
MISA_F = 1 << 5
#: mstatus, medeleg, mideleg, mie, mtvec, mepc, mcause, satp, pmpcfg0, pmpaddr0, mnstatus; mvendorid, marchid, mimpid.
_ZERO = {0x300, 0x302, 0x303, 0x304, 0x305, 0x341, 0x342, 0x180, 0x3A0, 0x3B0, 0x744, 0xF11, 0xF12, 0xF13}
_COUNTERS = {number + high for number in (0xB01, *range(0xB03, 0xB20), MCYCLE, MINSTRET) for high in (0, HIGH)}

Reader = Callable[[State, View], int | np.ndarray]


def _warp_numbers(state: State, view: View) -> np.ndarray:
    return (view.row_numbers + view.first_row)[:, None]


def _hart_numbers(state: State, view: View) -> np.ndarray:
    config = state.config
    first = config.threads * (_warp_numbers(state, view) + config.warps * config.core_id)
    return first + state.lane_numbers


def _low(value: int) -> int:
    return value & 0xFFFF_FFFF


#: The value of each CSR: a number, or an array that broadcasts to (rows of the view, threads).
_READERS: dict[int, Reader] = {
    FFLAGS: lambda state, view: (state.fcsr[view.rows] & 0x1F)[:, None],
    FRM: lambda state, view: (state.fcsr[view.rows] >> 5)[:, None],
    # A copy, because the same instruction may write the CSR before the old value reaches rd.
    FCSR: lambda state, view: state.fcsr[view.rows][:, None].copy(),
    0x301: lambda state, view: MISA | (MISA_F if state.config.fpu else 0),
    MSCRATCH: lambda state, view: state.mscratch,
    MREGION: lambda state, view: state.mregion,
    MORDER: lambda state, view: state.morder,
    MPOLICY: lambda state, view: state.mpolicy,
    MCYCLE: lambda state, view: _low(state.mcycle),
    MCYCLE + HIGH: lambda state, view: _low(state.mcycle >> 32),
    MINSTRET: lambda state, view: _low(state.minstret),
    MINSTRET + HIGH: lambda state, view: _low(state.minstret >> 32),
    0xCC0: lambda state, view: state.lane_numbers,
    0xCC1: _warp_numbers,
    0xCC2: lambda state, view: state.config.core_id,
    0xCC3: lambda state, view: _low(state.active_mask),
    0xCC4: lambda state, view: state.mask_words[view.rows][:, None],
    0xF14: _hart_numbers,
    0xFC0: lambda state, view: state.config.threads,
    0xFC1: lambda state, view: state.config.warps,
    0xFC2: lambda state, view: state.config.cores,
    0xFC3: lambda state, view: state.config.memory_map.local,
}
for _number in (_ZERO | _COUNTERS) - set(_READERS):
    _READERS[_number] = lambda state, view: 0


def _write_fflags(state: State, warp: int, value: int) -> None:
    state.fcsr[warp] = int(state.fcsr[warp]) & 0xE0 | value & 0x1F


def _write_frm(state: State, warp: int, value: int) -> None:
    state.fcsr[warp] = int(state.fcsr[warp]) & 0x1F | (value & 7) << 5


def _write_fcsr(state: State, warp: int, value: int) -> None:
    state.fcsr[warp] = value & 0xFF


def _write_mscratch(state: State, warp: int, value: int) -> None:
    state.mscratch = value


def _write_mregion(state: State, warp: int, value: int) -> None:
    state.mregion = value & 1
    if not state.mregion:
        state.morder = 0


def _write_morder(state: State, warp: int, value: int) -> None:
    if state.config.ordered:
        state.morder = value


def _write_mpolicy(state: State, warp: int, value: int) -> None:
    if state.config.policy_csr:
        state.mpolicy = value


#: Writes that have an effect; all others are ignored.
_WRITERS: dict[int, Callable[[State, int, int], None]] = {
    FFLAGS: _write_fflags, FRM: _write_frm, FCSR: _write_fcsr, MSCRATCH: _write_mscratch, MREGION: _write_mregion,
    MORDER: _write_morder, MPOLICY: _write_mpolicy,
}  # fmt: skip


def is_volatile(number: int) -> bool:
    """Whether the CSR is a counter, whose value depends on when it is read."""
    return number in _COUNTERS


def unknown(number: int, *, writes: bool) -> bool:
    """Whether an access faults, because there is no such CSR or because a write is to a read-only number."""
    return number not in _READERS or (writes and number >> 10 == 3)


def access(number: int, rd: int, operation: str, rs1: int | None, zimm: int, *, writes: bool) -> Callable:
    """Return one of the six CSR instructions.

    ``operation`` is "rw", "rs" or "rc"; the operand is lane 0's ``rs1``, or ``zimm`` if ``rs1`` is None. An instruction
    that ``writes`` executes one warp at a time, because it changes the value that the next warp reads.
    """
    if unknown(number, writes=writes):

        def execute_unknown(state: State, view: View, pc: int) -> None:
            raise FaultError(FaultCause.UNKNOWN_CSR, view.warps[0], number)

        return execute_unknown
    reader, writer = _READERS[number], _WRITERS.get(number)
    volatile = is_volatile(number)

    of_fpu = number in (FFLAGS, FRM, FCSR)

    def execute(state: State, view: View, pc: int) -> None:
        if of_fpu and not state.config.fpu:
            raise FaultError(FaultCause.UNKNOWN_CSR, view.warps[0], number)
        old = reader(state, view)
        if volatile and state.recorder is not None:
            state.recorder.volatile(pc)
        if writes and writer is not None:
            source = zimm if rs1 is None else int(view.r[rs1][0, 0])
            before = int(np.broadcast_to(old, view.mask.shape)[0, 0])
            after = {"rw": source, "rs": before | source, "rc": before & ~source}[operation]
            writer(state, view.warps[0], after)
            if state.recorder is not None and number == MREGION:
                state.recorder.arguments(view.warps[0], state.mregion, state.morder or 1)
            elif state.recorder is not None and number == MPOLICY:
                state.recorder.arguments(view.warps[0], state.mpolicy, 1)
        if rd != DISCARD:
            view.put(rd, old)

    return execute
