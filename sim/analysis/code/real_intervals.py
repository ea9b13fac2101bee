"""Interval rules of floating-point instructions.

Rounding is monotonic, so the golden model computes the result from the ends of the operands. A result that may be a NaN
is unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from ...machine.golden.float_ops import compute
from .lanes import TOP
from .numbers import Interval, from_integers, from_places, places, signed, unsigned

__all__ = ["estimate"]

_SIGN = 1 << 31
_INFINITY = 0x7F80_0000
#: The places of -0.0 and 0.0.
_MINUS_ZERO, _ZERO = -1, 0


def _words(place: np.ndarray) -> np.ndarray:
    return (np.where(place < 0, _SIGN - 1 - place, place) & TOP).astype(np.uint32)


def _where(valid: np.ndarray, a: Interval) -> Interval:
    return np.where(valid, a[0], 0), np.where(valid, a[1], TOP)


def _rounded(name: str, operands: Sequence[Interval], mode: int) -> Interval:
    """Apply an operation that is monotonic in each operand: a sum, product, quotient or root."""
    ends, valid = [], np.ones(len(operands[0][0]), bool)
    for each in operands:
        low, high, real = places(each)
        # Infinity times zero, and infinity minus infinity, are NaNs.
        valid &= real & (low > -_INFINITY - 1) & (high < _INFINITY)
        ends.append((low, high))
    if name == "fdiv.s":
        valid &= (ends[1][0] > _ZERO) | (ends[1][1] < _MINUS_ZERO)
    elif name == "fsqrt.s":
        valid &= ends[0][0] >= _MINUS_ZERO
    found = []
    for corner in itertools.product(*ends):
        words = compute(name, [_words(np.where(valid, each, 0x3F80_0000)) for each in corner], mode)
        low, _, real = places((words.astype(np.int64),) * 2)
        valid &= real
        found.append(low)
    low, high = np.minimum.reduce(found), np.maximum.reduce(found)
    # The sign of a zero does not follow the order.
    low, high = np.where(low == _ZERO, _MINUS_ZERO, low), np.where(high == _MINUS_ZERO, _ZERO, high)
    return _where(valid, from_places(low, high))


def _least_or_greatest(name: str, operands: Sequence[Interval], mode: int) -> Interval:
    (low, high, real), (other_low, other_high, other_real) = (places(each) for each in operands)
    which = np.minimum if name == "fmin.s" else np.maximum
    return _where(real & other_real, from_places(which(low, other_low), which(high, other_high)))


def _compared(name: str, operands: Sequence[Interval], mode: int) -> Interval:
    """Compare; the result is 0, 1 or unknown. The two zeros are equal."""
    (low, high, real), (other_low, other_high, other_real) = (places(each) for each in operands)
    low, high, other_low, other_high = (
        np.where(each < 0, each + 1, each) for each in (low, high, other_low, other_high)
    )
    if name == "feq.s":
        always = (low == high) & (other_low == other_high) & (low == other_low)
        never = (high < other_low) | (other_high < low)
    elif name == "flt.s":
        always, never = high < other_low, low >= other_high
    else:
        always, never = high <= other_low, low > other_high
    valid = real & other_real
    return (valid & always).astype(np.int64), 1 - (valid & never).astype(np.int64)


def _to_integer(name: str, operands: Sequence[Interval], mode: int) -> Interval:
    low, high, real = places(operands[0])
    ends = [compute(name, [_words(np.where(real, each, 0))], mode) for each in (low, high)]
    kind = np.int32 if name == "fcvt.w.s" else np.uint32
    low, high = (each.view(kind).astype(np.int64) for each in ends)
    return _where(real, from_integers(low, high))


def _from_integer(name: str, operands: Sequence[Interval], mode: int) -> Interval:
    ends = signed(operands[0]) if name == "fcvt.s.w" else unsigned(operands[0])
    found = [compute(name, [(each & TOP).astype(np.uint32)], mode).astype(np.int64) for each in ends]
    return from_places(*(places((each, each))[0] for each in found))


def _moved(name: str, operands: Sequence[Interval], mode: int) -> Interval:
    return operands[0]


_ROUNDED = ("fadd.s", "fsub.s", "fmul.s", "fdiv.s", "fsqrt.s", "fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s")
_RULES: dict[str, Callable[[str, Sequence[Interval], int], Interval]] = {
    **dict.fromkeys(_ROUNDED, _rounded), **dict.fromkeys(("fmin.s", "fmax.s"), _least_or_greatest),
    **dict.fromkeys(("feq.s", "flt.s", "fle.s"), _compared),
    **dict.fromkeys(("fcvt.w.s", "fcvt.wu.s"), _to_integer), **dict.fromkeys(("fcvt.s.w", "fcvt.s.wu"), _from_integer),
    **dict.fromkeys(("fmv.x.w", "fmv.w.x"), _moved),
}


def _sign_changed(name: str, a: Interval) -> Interval:
    """Copy, invert or clear a number's own sign."""
    if name == "fsgnj.s":
        return a
    low, high, real = places(a)
    turned = -1 - high, -1 - low
    if name == "fsgnjx.s":
        mixed = (low < 0) & (high >= 0)
        least, greatest = np.where(high < 0, turned[0], low), np.where(high < 0, turned[1], high)
        turned = np.where(mixed, 0, least), np.where(mixed, np.maximum(high, -1 - low), greatest)
    return _where(real, from_places(*turned))


def estimate(name: str, operands: Sequence[Interval], *, same: bool, mode: int) -> Interval:
    """Return the interval of the result of the floating-point instruction ``name`` (sim.analysis.code.numbers).

    ``same``: whether the first two operands are the same register. ``mode``: the rounding mode.
    """
    if name in ("fsgnj.s", "fsgnjn.s", "fsgnjx.s") and same:
        return _sign_changed(name, operands[0])
    if name not in _RULES:
        lanes = len(operands[0][0])
        return np.zeros(lanes, np.int64), np.full(lanes, TOP)
    return _RULES[name](name, operands, mode)
