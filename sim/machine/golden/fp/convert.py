"""Comparisons, min and max, classification, and conversions from and to 32-bit integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .formats import (
    CANONICAL_NAN,
    F64,
    INF,
    MAGNITUDE,
    MIN_NORMAL,
    NV,
    NX,
    QUIET_BIT,
    U8,
    U32,
    Bool,
    Result,
    Rounding,
    checked_rounding,
    elementwise,
    is_nan,
    is_signalling,
    widen,
)
from .rounding import round_finite, round_nearest_if_plain


@elementwise(2)
def min_(a: U32, b: U32, /) -> Result:
    """minimumNumber of IEEE 754-2019: -0 < +0, a number beats a NaN, two NaN give the canonical one."""
    return _select(a, b, _order(a) <= _order(b))


@elementwise(2)
def max_(a: U32, b: U32, /) -> Result:
    """maximumNumber of IEEE 754-2019: see `min_`."""
    return _select(a, b, _order(a) >= _order(b))


@elementwise(2)
def eq(a: U32, b: U32, /) -> Result:
    """a == b as 0 or 1; quiet: only a signalling NaN is invalid."""
    equal = a.view(np.float32) == b.view(np.float32)
    return equal.astype(np.uint32), _invalid(is_signalling(a) | is_signalling(b))


@elementwise(2)
def lt(a: U32, b: U32, /) -> Result:
    """a < b as 0 or 1; signalling: any NaN is invalid."""
    less = a.view(np.float32) < b.view(np.float32)
    return less.astype(np.uint32), _invalid(is_nan(a) | is_nan(b))


@elementwise(2)
def le(a: U32, b: U32, /) -> Result:
    """a <= b as 0 or 1; signalling: any NaN is invalid."""
    less = a.view(np.float32) <= b.view(np.float32)
    return less.astype(np.uint32), _invalid(is_nan(a) | is_nan(b))


@elementwise(1)
def classify(a: U32, /) -> Result:
    """fclass: one bit of ten, from bit 0: -inf, -normal, -subnormal, -0, +0, +subnormal, +normal, +inf, sNaN, qNaN."""
    magnitude = a & MAGNITUDE
    rank = (magnitude > 0).astype(np.uint32) + (magnitude >= MIN_NORMAL) + (magnitude >= INF)
    bit = np.where(a > MAGNITUDE, 3 - rank, 4 + rank)
    bit = np.where(magnitude > INF, np.where(a & QUIET_BIT, 9, 8), bit)
    return np.left_shift(np.uint32(1), bit.astype(np.uint32)), np.zeros(a.shape, np.uint8)


@elementwise(1)
def to_int(a: U32, /, rm: int, signed: bool) -> Result:
    """fcvt.w.s (`signed`) or fcvt.wu.s: the rounded value as 32 integer bits.

    A value out of range saturates with NV and without NX, as do infinities and NaN; NaN counts as +infinity.
    """
    low, high = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
    value = widen(a)
    nan = np.isnan(value)
    if nan.any():
        value[nan] = np.inf
    rounded = _round_to_integer(value, checked_rounding(rm))
    saturated = np.clip(rounded, low, high)
    invalid = saturated != rounded
    flags = (rounded != value).astype(np.uint8) * np.uint8(NX)
    flags[invalid] = NV
    return saturated.astype(np.int64).astype(np.uint32), flags  # the second cast wraps: two's complement


@elementwise(1)
def from_int(a: U32, /, rm: int, signed: bool) -> Result:
    """fcvt.s.w (`signed`) or fcvt.s.wu: the integer whose 32 bits are `a`; zero gives +0 in every mode."""
    integers: NDArray[np.int32] | U32 = a.view(np.int32) if signed else a
    value = integers.astype(np.float64)
    plain = round_nearest_if_plain(value) if checked_rounding(rm) == Rounding.RNE else None
    return round_finite(value, rm) if plain is None else plain


def _order(a: U32) -> NDArray[np.int32]:
    """Integers that sort like the numbers, -0 below +0 (negative encodings count backwards)."""
    signed = a.view(np.int32)
    return signed ^ ((signed >> 31) & MAGNITUDE)


def _select(a: U32, b: U32, take_a: Bool) -> Result:
    a_nan, b_nan = is_nan(a), is_nan(b)
    bits = np.where((take_a & ~a_nan) | b_nan, a, b)
    bits[a_nan & b_nan] = CANONICAL_NAN
    return bits, _invalid(is_signalling(a) | is_signalling(b))


def _invalid(where: Bool) -> U8:
    return where.astype(np.uint8) * np.uint8(NV)


def _round_to_integer(value: F64, rm: int) -> F64:
    if rm == Rounding.RNE:
        return np.rint(value)
    if rm == Rounding.RDN:
        return np.floor(value)
    if rm == Rounding.RUP:
        return np.ceil(value)
    if rm == Rounding.RMM:
        # The sum is exact for a 24-bit value from 2**-28 up, and below that cannot reach 1.
        value = value + np.copysign(0.5, value)
    return np.trunc(value)
