"""What instructions do to intervals of unsigned 32-bit numbers, where the golden model cannot: not all is known.

Each function takes the least and the greatest values of the operands (int64 arrays) and gives those of the result.
Where nothing better is known, that is every number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .lanes import MOST, TOP

__all__ = ["RULES", "Interval", "step_of"]

Interval = tuple[np.ndarray, np.ndarray]
_MODULUS = TOP + 1
_SIGN = 1 << 31


def _wrapped(low: np.ndarray, high: np.ndarray) -> Interval:
    """[low, high] modulo 2**32: every number if that is no interval any more."""
    first, last = low % _MODULUS, high % _MODULUS
    whole = (high - low >= _MODULUS) | (first > last)
    return np.where(whole, 0, first), np.where(whole, TOP, last)


def _top(a: Interval) -> Interval:
    return np.zeros_like(a[0]), np.full_like(a[0], TOP)


def _below(high: np.ndarray) -> np.ndarray:
    """The greatest number with as many bits as ``high``."""
    result = high.copy()
    for shift in (1, 2, 4, 8, 16):
        result |= result >> shift
    return result


def _signed(a: Interval) -> Interval:
    """As signed numbers; all of them where the interval holds both signs."""
    low, high = a
    mixed = (low < _SIGN) & (high >= _SIGN)
    shift = np.where(low >= _SIGN, _MODULUS, 0)
    return np.where(mixed, -_SIGN, low - shift), np.where(mixed, _SIGN - 1, high - shift)


def _add(a: Interval, b: Interval) -> Interval:
    return _wrapped(a[0] + b[0], a[1] + b[1])


def _sub(a: Interval, b: Interval) -> Interval:
    return _wrapped(a[0] - b[1], a[1] - b[0])


def _and(a: Interval, b: Interval) -> Interval:
    return np.zeros_like(a[0]), np.minimum(a[1], b[1])


def _or(a: Interval, b: Interval) -> Interval:
    return np.maximum(a[0], b[0]), _below(a[1] | b[1])


def _xor(a: Interval, b: Interval) -> Interval:
    return np.zeros_like(a[0]), _below(a[1] | b[1])


def _amount(b: Interval) -> np.ndarray | None:
    """By how much it is shifted, if that is known."""
    return b[0] & 31 if bool((b[0] == b[1]).all()) else None


def _sll(a: Interval, b: Interval) -> Interval:
    amount = _amount(b)
    if amount is None:
        return _top(a)
    # What is shifted out: the upper bits must be the same in all numbers of the interval.
    same = a[0] >> (32 - amount) == a[1] >> (32 - amount)
    low, high = a[0] << amount & TOP, a[1] << amount & TOP
    return np.where(same, low, 0), np.where(same, high, TOP >> amount << amount)


def _srl(a: Interval, b: Interval) -> Interval:
    amount = _amount(b)
    if amount is None:
        return np.zeros_like(a[0]), a[1]
    return a[0] >> amount, a[1] >> amount


def _sra(a: Interval, b: Interval) -> Interval:
    amount = _amount(b)
    if amount is None:
        return _top(a)
    low, high = _signed(a)
    return _wrapped(low >> amount, high >> amount)


def _less(a: Interval, b: Interval) -> Interval:
    return (a[1] < b[0]).astype(np.int64), (a[0] < b[1]).astype(np.int64)


def _slt(a: Interval, b: Interval) -> Interval:
    return _less(_signed(a), _signed(b))


def _mul(a: Interval, b: Interval) -> Interval:
    # Products of 32-bit numbers do not fit int64 as signed; those beyond 2**62 wrap for certain.
    large = (a[1] >= 1 << 31) | (b[1] >= 1 << 31)
    low = np.where(large, 0, a[0]) * np.where(large, 0, b[0])
    high = np.where(large, 0, a[1]) * np.where(large, 0, b[1])
    low, high = _wrapped(low, high)
    return np.where(large, 0, low), np.where(large, TOP, high)


def _divu(a: Interval, b: Interval) -> Interval:
    zero = b[0] == 0
    divisor = np.maximum(b[0], 1)
    return np.where(zero, 0, a[0] // np.maximum(b[1], 1)), np.where(zero, TOP, a[1] // divisor)


def _remu(a: Interval, b: Interval) -> Interval:
    zero = b[0] == 0
    return np.zeros_like(a[0]), np.where(zero, a[1], np.minimum(a[1], b[1] - 1))


def _czero_eqz(a: Interval, b: Interval) -> Interval:
    return np.where(b[0] > 0, a[0], 0), np.where(b[1] == 0, 0, a[1])


def _czero_nez(a: Interval, b: Interval) -> Interval:
    return np.where(b[1] == 0, a[0], 0), np.where(b[0] > 0, 0, a[1])


def step_of(rule: str, result: Interval, operands: tuple[Interval, Interval], steps: tuple[int, int]) -> int:
    """All results are the least of the ``result`` and multiples of two to the power of this.

    ``steps``: the same of the operands.
    """
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
    """The same for a second operand that is a ``constant``."""
    if rule == "sll":
        amount = constant & 31
        # Where upper bits are lost the least result is 0, and not that of the least operand.
        same = bool((first[0] << amount & TOP == result[0]).all())
        return min(step + amount, MOST) if same else amount
    return (constant & -constant).bit_length() - 1 if rule == "and" and constant else 0


#: The mnemonic, without the i of an immediate, to its rule.
RULES: dict[str, Callable[[Interval, Interval], Interval]] = {
    "add": _add, "sub": _sub, "and": _and, "or": _or, "xor": _xor, "sll": _sll, "srl": _srl, "sra": _sra,
    "slt": _slt, "sltu": _less, "mul": _mul, "divu": _divu, "remu": _remu, "czero.eqz": _czero_eqz,
    "czero.nez": _czero_nez,
}
