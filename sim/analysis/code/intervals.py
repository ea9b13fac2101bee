"""Interval rules of integer instructions, for operands that are not all known.

Each rule takes intervals of any form (sim.analysis.code.numbers) and returns the interval of the result, or every
number if no narrower interval is known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .lanes import MOST, TOP
from .numbers import Interval, from_integers, hull, signed, unsigned

__all__ = ["RULES", "step_of"]

_MODULUS = TOP + 1
_SIGN = 1 << 31


def _wrapped(low: np.ndarray, high: np.ndarray) -> Interval:
    """Return [low, high] modulo 2**32, or every number if that is not an interval."""
    first, last = low % _MODULUS, high % _MODULUS
    whole = (high - low >= _MODULUS) | (first > last)
    return np.where(whole, 0, first), np.where(whole, TOP, last)


def _below(high: np.ndarray) -> np.ndarray:
    """Return the greatest number with as many bits as ``high``."""
    result = high.copy()
    for shift in (1, 2, 4, 8, 16):
        result |= result >> shift
    return result


def _integers(a: Interval) -> Interval:
    """Return the interval as integers equal to the words modulo 2**32, of any sign."""
    low, high = unsigned(a)
    return np.where(a[0] < 0, a[0], low), np.where(a[0] < 0, a[1], high)


def _add(a: Interval, b: Interval) -> Interval:
    a, b = _integers(a), _integers(b)
    return from_integers(a[0] + b[0], a[1] + b[1])


def _sub(a: Interval, b: Interval) -> Interval:
    a, b = _integers(a), _integers(b)
    return from_integers(a[0] - b[1], a[1] - b[0])


def _with_few_bits(a: Interval, b: Interval) -> Interval:
    """Bound any bitwise operation on signed numbers: the result needs no more bits than the operands."""
    a, b = signed(a), signed(b)
    most = np.zeros_like(a[0])
    for each in (*a, *b):
        most = np.maximum(most, np.where(each < 0, -1 - each, each))
    most = _below(most)
    return -1 - most, most


def _narrower(a: Interval, b: Interval) -> Interval:
    better = b[1] - b[0] < a[1] - a[0]
    return np.where(better, b[0], a[0]), np.where(better, b[1], a[1])


def _and(a: Interval, b: Interval) -> Interval:
    first, second = unsigned(a), unsigned(b)
    plain = np.zeros_like(first[0]), np.minimum(first[1], second[1])
    for each, mask in ((first, second), (second, first)):
        # If all numbers agree in the bits above the mask, the bits below keep their order.
        kept = (mask[0] == mask[1]) & (mask[0] & mask[0] + 1 == 0) & ((each[0] ^ each[1]) & ~mask[0] == 0)
        plain = np.where(kept, each[0] & mask[0], plain[0]), np.where(kept, each[1] & mask[0], plain[1])
    first, second = _integers(a), signed(b)
    # A mask of ones above some bit rounds down, which keeps the order.
    rounds = (second[0] == second[1]) & (second[0] < 0) & (-second[0] & -second[0] - 1 == 0)
    rounded = first[0] & second[0], first[1] & second[0]
    plain = np.where(rounds, rounded[0], plain[0]), np.where(rounds, rounded[1], plain[1])
    return _narrower(plain, from_integers(*_with_few_bits(a, b)))


def _or(a: Interval, b: Interval) -> Interval:
    first, second = unsigned(a), unsigned(b)
    plain = np.maximum(first[0], second[0]), _below(first[1] | second[1])
    return _unless_zero(a, b, _narrower(plain, from_integers(*_with_few_bits(a, b))))


def _unless_zero(a: Interval, b: Interval, otherwise: Interval) -> Interval:
    """Return one operand where the other is 0."""
    low, high = otherwise
    for each, other in ((a, b), (b, a)):
        zero = (other[0] == 0) & (other[1] == 0)
        low, high = np.where(zero, each[0], low), np.where(zero, each[1], high)
    return low, high


def _xor(a: Interval, b: Interval) -> Interval:
    first, second = unsigned(a), unsigned(b)
    plain = np.zeros_like(first[0]), _below(first[1] | second[1])
    plain = _unless_zero(a, b, _narrower(plain, from_integers(*_with_few_bits(a, b))))
    first = _integers(a)
    inverted = from_integers(-1 - first[1], -1 - first[0])
    ones = (second[0] == TOP) & (second[1] == TOP)
    return np.where(ones, inverted[0], plain[0]), np.where(ones, inverted[1], plain[1])


def _amount(b: Interval) -> np.ndarray | None:
    """Return the shift amount, or None if it is unknown."""
    return b[0] & 31 if bool((b[0] == b[1]).all()) else None


def _sll(a: Interval, b: Interval) -> Interval:
    amount = _amount(b)
    if amount is None:
        return np.zeros_like(a[0]), np.full_like(a[0], TOP)
    number = signed(a)
    fits = (number[0] << amount >= -_SIGN) & (number[1] << amount < _SIGN)
    whole = from_integers(number[0] << amount, number[1] << amount)
    a = unsigned(a)
    plain = _shifted(a, amount)
    return np.where(fits, whole[0], plain[0]), np.where(fits, whole[1], plain[1])


def _shifted(a: Interval, amount: np.ndarray) -> Interval:
    # The bits shifted out must be the same in all numbers of the interval.
    same = a[0] >> (32 - amount) == a[1] >> (32 - amount)
    low, high = a[0] << amount & TOP, a[1] << amount & TOP
    return np.where(same, low, 0), np.where(same, high, TOP >> amount << amount)


def _srl(a: Interval, b: Interval) -> Interval:
    a, amount = unsigned(a), _amount(b)
    if amount is None:
        return np.zeros_like(a[0]), a[1]
    return a[0] >> amount, a[1] >> amount


def _sra(a: Interval, b: Interval) -> Interval:
    amount = _amount(b)
    low, high = signed(a)
    if amount is None:
        # By any amount, the result is between the operand and 0 or -1.
        return from_integers(np.minimum(low, 0), np.maximum(high, -1))
    return from_integers(low >> amount, high >> amount)


def _less(a: Interval, b: Interval) -> Interval:
    return (a[1] < b[0]).astype(np.int64), (a[0] < b[1]).astype(np.int64)


def _sltu(a: Interval, b: Interval) -> Interval:
    return _less(unsigned(a), unsigned(b))


def _slt(a: Interval, b: Interval) -> Interval:
    return _less(signed(a), signed(b))


def _corners(a: Interval, b: Interval, operation: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Interval:
    """Return the interval of an operation that is monotonic in each operand, from its results at the ends."""
    results = [operation(first, second) for first in a for second in b]
    return np.minimum.reduce(results), np.maximum.reduce(results)


def _mul(a: Interval, b: Interval) -> Interval:
    by_sign = from_integers(*_corners(signed(a), signed(b), np.multiply))
    return _narrower(_unsigned_mul(unsigned(a), unsigned(b)), by_sign)


def _mulh(a: Interval, b: Interval) -> Interval:
    return from_integers(*_corners(signed(a), signed(b), lambda first, second: first * second >> 32))


def _mulhsu(a: Interval, b: Interval) -> Interval:
    return from_integers(*_corners(signed(a), unsigned(b), lambda first, second: first * second >> 32))


def _mulhu(a: Interval, b: Interval) -> Interval:
    a, b = unsigned(a), unsigned(b)
    low, high = (
        (first.astype(np.uint64) * second.astype(np.uint64) >> np.uint64(32)).astype(np.int64)
        for first, second in zip(a, b, strict=True)
    )
    return low, high


def _truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the quotient, rounded towards zero."""
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def _div(a: Interval, b: Interval) -> Interval:
    a, b = signed(a), signed(b)
    divides = (b[0] > 0) | (b[1] < 0)
    divisor = np.where(divides, b[0], 1), np.where(divides, b[1], 1)
    # -2**31 / -1 is 2**31, which wraps to -2**31.
    low, high = from_integers(*_corners(a, divisor, _truncated))
    return np.where(divides, low, 0), np.where(divides, high, TOP)


def _rem(a: Interval, b: Interval) -> Interval:
    a, b = signed(a), signed(b)
    # The remainder has the sign of the dividend and is below the divisor; by zero it is the dividend.
    most = np.maximum(np.abs(b[0]), np.abs(b[1])) - 1
    most = np.where((b[0] <= 0) & (b[1] >= 0), _SIGN, most)
    return from_integers(np.minimum(np.maximum(a[0], -most), 0), np.maximum(np.minimum(a[1], most), 0))


def _unsigned_mul(a: Interval, b: Interval) -> Interval:
    # Large products do not fit int64, and certainly wrap.
    large = (a[1] >= 1 << 31) | (b[1] >= 1 << 31)
    low = np.where(large, 0, a[0]) * np.where(large, 0, b[0])
    high = np.where(large, 0, a[1]) * np.where(large, 0, b[1])
    low, high = _wrapped(low, high)
    return np.where(large, 0, low), np.where(large, TOP, high)


def _divu(a: Interval, b: Interval) -> Interval:
    a, b = unsigned(a), unsigned(b)
    zero = b[0] == 0
    divisor = np.maximum(b[0], 1)
    return np.where(zero, 0, a[0] // np.maximum(b[1], 1)), np.where(zero, TOP, a[1] // divisor)


def _remu(a: Interval, b: Interval) -> Interval:
    a, b = unsigned(a), unsigned(b)
    zero = b[0] == 0
    return np.zeros_like(a[0]), np.where(zero, a[1], np.minimum(a[1], b[1] - 1))


def _kept_where(a: Interval, always: np.ndarray, never: np.ndarray) -> Interval:
    """Return the interval of ``a`` where selected, or 0."""
    zero = np.zeros_like(a[0])
    low, high = hull(a, (zero, zero))
    return np.where(always, a[0], np.where(never, 0, low)), np.where(always, a[1], np.where(never, 0, high))


def _czero_eqz(a: Interval, b: Interval) -> Interval:
    b = unsigned(b)
    return _kept_where(a, b[0] > 0, b[1] == 0)


def _czero_nez(a: Interval, b: Interval) -> Interval:
    b = unsigned(b)
    return _kept_where(a, b[1] == 0, b[0] > 0)


def step_of(rule: str, result: Interval, operands: tuple[Interval, Interval], steps: tuple[int, int]) -> int:
    """Return s such that all results are the least one plus multiples of 2**s; ``steps``: the s of each operand."""
    first, second = operands
    if bool((result[1] - result[0] >= TOP).any()):
        return 0
    if rule == "add":
        return min(steps)
    known = bool((second[0] == second[1]).all())
    if rule == "sub" and known:
        return steps[0]
    constant = int(second[0][0])
    if known and bool((second[0] == constant).all()):
        return _step_by(rule, constant, first, steps[0], result)
    return 0


def _step_by(rule: str, constant: int, first: Interval, step: int, result: Interval) -> int:
    """Return the step as :func:`step_of` does, for a ``constant`` second operand."""
    if rule == "sll":
        amount = constant & 31
        # If upper bits are lost, the least result is 0 and does not come from the least operand.
        same = bool((first[0] << amount & TOP == result[0]).all())
        return min(step + amount, MOST) if same else amount
    return (constant & -constant).bit_length() - 1 if rule == "and" and constant else 0


#: Rules by mnemonic, without the i of an immediate.
RULES: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": _add, "sub": _sub, "and": _and, "or": _or, "xor": _xor, "sll": _sll, "srl": _srl, "sra": _sra,
    "slt": _slt, "sltu": _sltu, "mul": _mul, "mulh": _mulh, "mulhsu": _mulhsu, "mulhu": _mulhu, "div": _div,
    "rem": _rem, "divu": _divu, "remu": _remu, "czero.eqz": _czero_eqz, "czero.nez": _czero_nez,
}
