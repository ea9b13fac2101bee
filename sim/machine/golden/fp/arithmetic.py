"""add, sub, mul, div, sqrt and fused multiply-add."""

from __future__ import annotations

import numpy as np

from .formats import (
    CANONICAL_NAN,
    DZ,
    F64,
    NV,
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
from .rounding import round_finite, round_nearest_if_plain, sum_to_odd


@elementwise(2)
def add(a: U32, b: U32, /, rm: int) -> Result:
    """a + b."""
    return _sum(widen(a), widen(b), rm, (a, b))


@elementwise(2)
def sub(a: U32, b: U32, /, rm: int) -> Result:
    """a - b."""
    return _sum(widen(a), -widen(b), rm, (a, b))


@elementwise(2)
def mul(a: U32, b: U32, /, rm: int) -> Result:
    """a * b. The float64 product of two 24-bit significands is exact."""
    return _deliver(widen(a) * widen(b), rm, (a, b))


@elementwise(3)
def fma(a: U32, b: U32, c: U32, /, rm: int) -> Result:
    """a * b + c, rounded once. Infinity times zero is invalid whatever the addend, a quiet NaN included."""
    product = widen(a) * widen(b)  # exact
    bits, flags = _sum(product, widen(c), rm, (a, b, c))
    product_nan = np.isnan(product)
    if product_nan.any():
        flags[product_nan & ~is_nan(a) & ~is_nan(b)] |= NV
    return bits, flags


@elementwise(2)
def div(a: U32, b: U32, /, rm: int) -> Result:
    """a / b; a finite nonzero number over zero is an exact infinity with DZ.

    The float64 quotient needs no correction: for t of 25 bits (a binary32 number or a midpoint) other than a / b,
    |a / b - t| = |a - t * b| / |b| is at least 2**-50 relative to t, and the quotient is within 2**-53 of exact.
    """
    x, y = widen(a), widen(b)
    bits, flags = _deliver(x / y, rm, (a, b))
    zero_divisor = y == 0
    if zero_divisor.any():
        flags[zero_divisor & np.isfinite(x) & (x != 0)] |= DZ
    return bits, flags


@elementwise(1)
def sqrt(a: U32, /, rm: int) -> Result:
    """Square root; of -0 it is -0, of any other negative number invalid.

    The float64 root needs no correction: for t of 25 bits other than the root, |root - t| = |a - t * t| / (root + t)
    is at least 2**-51 relative to t, and the float64 root is within 2**-53 of exact.
    """
    return _deliver(np.sqrt(widen(a)), rm, (a,))


def _sum(x: F64, y: F64, rm: int, operands: tuple[U32, ...]) -> Result:
    """x + y delivered as binary32; an exact zero sum takes the sign IEEE 754 section 6.3 gives it."""
    total = sum_to_odd(x, y)
    if rm == Rounding.RDN:
        # The host adds in RNE, where x + -x is +0; rounding down it is -0. Zeros of equal sign keep it either way.
        total = np.where((total == 0) & (np.signbit(x) | np.signbit(y)), -0.0, total)
    return _deliver(total, rm, operands)


def _deliver(value: F64, rm: int, operands: tuple[U32, ...]) -> Result:
    """Rounds a float64 result, and gives infinities and NaN their encoding and flags.

    Finite operands never overflow float64, so an element that is not finite comes from an infinite or NaN operand,
    a zero divisor, or a negative root; a NaN that no operand brought in is an invalid operation.
    """
    if checked_rounding(rm) == Rounding.RNE:
        plain = round_nearest_if_plain(value)
        if plain is not None:
            return plain
    finite = np.isfinite(value)
    if finite.all():
        return round_finite(value, rm)
    bits, flags = round_finite(np.where(finite, value, 0.0), rm)
    infinite = np.isinf(value)
    bits[infinite] = value[infinite].astype(np.float32).view(np.uint32)
    made_nan = np.isnan(value)
    bits[made_nan] = CANONICAL_NAN
    signalling: Bool = np.zeros_like(made_nan)
    for operand in operands:
        made_nan &= ~is_nan(operand)
        signalling |= is_signalling(operand)
    flags[made_nan | signalling] |= NV
    return bits, flags
