"""The floating-point instructions: they add rounding mode and flags to :mod:`sim.machine.golden.fp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from metronome.hdl.config import FaultCause

from . import fp
from .records import FaultError
from .state import State
from .view import DISCARD, View

__all__ = ["DYNAMIC", "computation", "compute", "move"]

DYNAMIC = 7
_SIGN = np.uint32(0x8000_0000)

Arrays = tuple[np.ndarray, np.ndarray]

#: Name to a function of the operands and the rounding mode that returns (result, flags).
_OPERATIONS: dict[str, Callable[..., Arrays]] = {
    "fadd.s": fp.add,
    "fsub.s": fp.sub,
    "fmul.s": fp.mul,
    "fdiv.s": fp.div,
    "fsqrt.s": fp.sqrt,
    "fmadd.s": fp.fma,
    "fmsub.s": lambda a, b, c, rm: fp.fma(a, b, c ^ _SIGN, rm),
    "fnmsub.s": lambda a, b, c, rm: fp.fma(a ^ _SIGN, b, c, rm),
    "fnmadd.s": lambda a, b, c, rm: fp.fma(a ^ _SIGN, b, c ^ _SIGN, rm),
    "fcvt.w.s": lambda a, rm: fp.to_int(a, rm, True),
    "fcvt.wu.s": lambda a, rm: fp.to_int(a, rm, False),
    "fcvt.s.w": lambda a, rm: fp.from_int(a, rm, True),
    "fcvt.s.wu": lambda a, rm: fp.from_int(a, rm, False),
}
_UNROUNDED: dict[str, Callable[..., Arrays]] = {
    "fmin.s": fp.min_, "fmax.s": fp.max_, "feq.s": fp.eq, "flt.s": fp.lt, "fle.s": fp.le, "fclass.s": fp.classify,
}  # fmt: skip


def _dynamic_mode(state: State, view: View, word: int) -> int | None:
    """Return the rounding mode in ``frm``, or None if the warps of the view differ; an invalid mode is a fault."""
    modes = {int(state.fcsr[warp]) >> 5 for warp in view.warps}
    if max(modes) > 4:
        bad = next(warp for warp in view.warps if int(state.fcsr[warp]) >> 5 > 4)
        raise FaultError(FaultCause.ILLEGAL_INSTRUCTION, bad, word)
    return modes.pop() if len(modes) == 1 else None


def _raise_flags(state: State, view: View, flags: np.ndarray) -> None:
    """OR the flags (lanes,) of the active lanes into the fcsr of their warps."""
    if not flags.any():
        return
    by_lane = np.zeros(view.mask.shape, np.uint32)
    by_lane.reshape(-1)[view.index] = flags
    state.fcsr[view.rows] |= np.bitwise_or.reduce(by_lane, axis=1)


def compute(name: str, operands: Sequence[np.ndarray], mode: int) -> np.ndarray:
    """Return the result of operation ``name`` on ``operands`` (uint32); ``mode`` is ignored if nothing is rounded."""
    if name in _OPERATIONS:
        return _OPERATIONS[name](*operands, mode)[0]
    return _UNROUNDED[name](*operands)[0]


def computation(name: str, rd: int, sources: tuple[int, ...], rm: int, word: int) -> Callable[[State, View, int], None]:
    """rd := operation ``name`` of the ``sources``; ``rm`` is 0..4 or DYNAMIC, and ignored if nothing is rounded."""
    rounded = name in _OPERATIONS
    operation = _OPERATIONS[name] if rounded else _UNROUNDED[name]

    def execute(state: State, view: View, pc: int) -> None:
        operands = [view.active(view.r[source]) for source in sources]
        if rounded:
            mode = _dynamic_mode(state, view, word) if rm == DYNAMIC else rm
            if mode is None:
                for warp in view.warps:
                    execute(state, state.warp_view(warp), pc)
                return
            result, flags = operation(*operands, mode)
        else:
            result, flags = operation(*operands)
        _raise_flags(state, view, flags)
        if rd != DISCARD:
            view.put_active(rd, result)

    return execute


def move(rd: int, rs1: int) -> Callable[[State, View, int], None]:
    """rd := the bits of rs1 (fmv.x.w, fmv.w.x)."""

    def execute(state: State, view: View, pc: int) -> None:
        view.put(rd, view.r[rs1])

    return execute
