"""The one place where a wider value becomes a binary32: rounding, overflow and underflow, in five modes.

Every operation first forms a float64 that lies on the same side of every binary32 number, and of every midpoint
between two of them, as the exact result does, and equals one only if the exact result does. Such a float64 rounds
to binary32, in any mode, exactly as the infinitely precise result would. Each operation in arithmetic.py explains how
it meets this condition; the float64 never overflows and is never subnormal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .formats import F64, INF, MAGNITUDE, MAX_FINITE, MIN_NORMAL, NX, OF, UF, Bool, Result, Rounding, checked_rounding

_I64 = NDArray[np.int64]

_FRACTION_BITS = 52
_DROPPED = 29  # significand bits of a float64 (53) that a normal binary32 (24) has no room for
_MIN_EXPONENT = -126


def sum_to_odd(x: F64, y: F64) -> F64:
    """x + y rounded to odd in float64: exact, or the neighbour of the exact sum whose last bit is 1.

    Rounding to odd keeps the information for a later, coarser rounding (Boldo 2008). The error of the float64 sum comes
    from TwoSum (Knuth 1997, section 4.2.2), which is exact here. Infinities and NaN come out as in x + y.
    """
    total = x + y
    y_part = total - x
    error = (x - (total - y_part)) + (y - y_part)
    if not error.any():
        return total
    bits = total.view(np.int64)
    up, down = error > 0, error < 0  # both False where an infinity made the error NaN
    even = (bits & 1) == 0
    away = np.where(total > 0, up, down)  # the exact sum is farther from zero than `total`
    step = (even & away).astype(np.int64) - (even & (up | down) & ~away)
    odd: F64 = (bits + step).view(np.float64)
    return odd


def round_nearest_if_plain(value: F64) -> Result | None:
    """Fast path: RNE by the host's own cast, if every element is zero or safely inside the normal range, else None."""
    nearest = value.astype(np.float32)
    bits = nearest.view(np.uint32)
    # One subtraction checks both ends. The smallest normal is left out: whether it underflows is not visible in it.
    outside = ((bits & MAGNITUDE) - np.uint32(MIN_NORMAL + 1)) >= INF - (MIN_NORMAL + 1)
    if outside.any() and (outside & (value != 0)).any():
        return None
    return bits, (nearest != value).astype(np.uint8)


def round_finite(value: F64, rm: int) -> Result:
    """Rounds finite float64 values to binary32 in mode `rm`, with the flags NX, UF (tininess after rounding) and OF."""
    raw = value.view(np.int64)
    negative = raw < 0
    magnitude = raw & 0x7FFF_FFFF_FFFF_FFFF
    exponent = (magnitude >> _FRACTION_BITS) - 1023
    hidden = (magnitude != 0).astype(np.int64) << _FRACTION_BITS
    significand = (magnitude & ((1 << _FRACTION_BITS) - 1)) | hidden

    below = np.maximum(_MIN_EXPONENT - exponent, 0)  # binades under the normal range
    shift = np.minimum(_DROPPED + below, 62)  # a significand has 53 bits: from 54 on, all of it is remainder
    kept, inexact = _round_off(significand, shift, negative, rm)
    # Adding instead of or-ing lets the carry out of the significand step the exponent, up to infinity.
    bits = ((exponent + below - _MIN_EXPONENT) << 23) + kept
    flags = inexact.astype(np.uint8) * np.uint8(NX)

    overflow = bits >= INF
    if overflow.any():
        bits = np.where(overflow, np.where(_overflows_to_infinity(negative, rm), INF, MAX_FINITE), bits)
        flags[overflow] = OF | NX
    tiny = inexact & (below > 0)
    if tiny.any():
        # Tiny after rounding: as if the exponent had no lower bound, the result still falls short of 2**-126.
        unbounded, _ = _round_off(significand, np.full_like(shift, _DROPPED), negative, rm)
        tiny &= (below > 1) | (unbounded < 1 << 24)
        flags[tiny] |= UF
    return (bits | (negative.astype(np.int64) << 31)).astype(np.uint32), flags


def _round_off(significand: _I64, shift: _I64, negative: Bool, rm: int) -> tuple[_I64, Bool]:
    """`significand` / 2**`shift` (1..62) rounded to an integer as the mode says, and where that was inexact."""
    kept = significand >> shift
    remainder = significand - (kept << shift)
    inexact = remainder != 0
    rm = checked_rounding(rm)
    if rm == Rounding.RTZ:
        return kept, inexact
    if rm == Rounding.RDN:
        return kept + (inexact & negative), inexact
    if rm == Rounding.RUP:
        return kept + (inexact & ~negative), inexact
    doubled, whole = remainder << 1, np.int64(1) << shift
    if rm == Rounding.RMM:
        return kept + (doubled >= whole), inexact
    return kept + (doubled + (kept & 1) > whole), inexact  # a tie goes up only from an odd number


def _overflows_to_infinity(negative: Bool, rm: int) -> Bool:
    """Where a result too large becomes infinity; elsewhere it becomes the largest finite number."""
    if rm == Rounding.RDN:
        return negative
    if rm == Rounding.RUP:
        return ~negative
    return np.full_like(negative, rm != Rounding.RTZ)
