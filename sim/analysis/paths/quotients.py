"""Branch-free quotients by powers of two and absolute values, as compilers compute them from signed numbers.

For a quotient, the code adds a constant to negative numbers so that a shift rounds towards zero. For an absolute value,
it subtracts negative numbers from zero. Here, an interval of both signs is split at zero, which rules for single
operations cannot do.
"""

from __future__ import annotations

import numpy as np

from ..code.intervals import RULES
from ..code.numbers import TOP, Interval, from_integers, hull, signed, unsigned
from ..code.program import Instruction
from .conditions import ZERO, ValueNumbers
from .masks import interval_of
from .path import Path

__all__ = ["by_sign", "note_sign"]


def note_sign(path: Path, code: Instruction, values: ValueNumbers) -> None:
    """Record the interval of a number whose sign is extracted, for use when no register holds the number any more."""
    if code.first is None or code.second is not None or code.rule not in ("sra", "srl"):
        return
    if code.constant not in (31, 15, 7):
        return
    number = path.numbers[code.first]
    path.intervals.note(number, path.on.numbers(code.first))
    extended = values.extended(number, 31 - code.constant)
    if code.constant < 31 and extended in (*path.numbers, *path.intervals):
        path.intervals.note(extended, interval_of(path, extended, values))


def by_sign(path: Path, code: Instruction, values: ValueNumbers) -> Interval | None:
    """Return the interval of a quotient or absolute value; None for any other instruction."""
    if code.first is None:
        return None
    a = path.numbers[code.first]
    if code.second is None:
        return _half(path, a, code.constant, values) if code.rule == "sra" else None
    b = path.numbers[code.second]
    if code.rule == "add":
        return _rounded_up(path, a, b, values) or _rounded_up(path, b, a, values)
    return _absolute(path, a, b, values) if code.rule == "sub" else None


def _absolute(path: Path, a: int, b: int, values: ValueNumbers) -> Interval | None:
    name, first, second = values.operation(a)
    if name != "xor" or b not in (first, second):
        return None
    number = first if b == second else second
    if values.operation(b) != ("sra", number, ("is", 31)):
        return None
    below, above = _parts_by_sign(interval_of(path, number, values))
    # The value is often an iteration count of a loop that is skipped if it is 0.
    no_zero = path.intervals.get(values.of("sltu", ZERO, number))
    if no_zero is not None:
        above = np.maximum(above[0], no_zero[0]), above[1]
    return hull(_if_some("sub", (np.zeros_like(below[0]),) * 2, below), above)


def _rounded_up(path: Path, number: int, added: int, values: ValueNumbers) -> Interval | None:
    """Return the interval of a number plus, if it is negative, the constant that makes a shift round towards zero."""
    name, source, constant = values.operation(added)
    if name != "srl" or not isinstance(constant, tuple):
        return None
    made, first, bits = values.operation(source)
    if source == number:
        sign = constant[1] == 31
    elif made == "sll" and first == number and isinstance(bits, tuple) and bits[1] <= constant[1]:
        # These bits are copies of the sign if the number is small enough.
        low, high = signed(interval_of(path, number, values))
        bound = 1 << constant[1] - bits[1]
        sign = bool(((low >= -bound) & (high < bound))[path.may].all())
    else:
        sign = (made, first, bits) == ("sra", number, ("is", 31))
    return _moved(interval_of(path, number, values), TOP >> constant[1]) if sign else None


def _half(path: Path, shifted: int, constant: int, values: ValueNumbers) -> Interval | None:
    """Return the interval of a number halved towards zero, which was zero-extended from one or two bytes."""
    name, total, bits = values.operation(shifted)
    if name != "sll" or bits != ("is", constant - 1) or constant - 1 not in (16, 24):
        return None
    name, one, other = values.operation(total)
    for number, added in ((one, other), (other, one)) if name == "add" and isinstance(other, int) else ():
        if values.operation(added) != ("srl", number, ("is", 32 - constant)):
            continue
        _, high = unsigned(interval_of(path, number, values))
        if not bool((high >> 33 - constant)[path.may].any()):
            moved = _moved(interval_of(path, values.extended(number, constant - 1), values), 1)
            return RULES["sra"](moved, (np.ones_like(moved[0]),) * 2)
    return None


def _moved(interval: Interval, constant: int) -> Interval:
    """Add a constant to the negative numbers of an interval."""
    below, above = _parts_by_sign(interval)
    return hull(_if_some("add", (np.full_like(below[0], constant),) * 2, below), above)


def _parts_by_sign(interval: Interval) -> tuple[Interval, Interval]:
    """Split an interval into its negative and other signed numbers; an empty part has low > high."""
    low, high = signed(interval)
    nothing = np.full_like(low, TOP), np.zeros_like(low)
    below, above = (low, np.minimum(high, -1)), (np.maximum(low, 0), high)
    return tuple(  # type: ignore[return-value]
        (np.where(some, made[0], nothing[0]), np.where(some, made[1], nothing[1]))
        for some, made in ((each[0] <= each[1], from_integers(each[0], np.maximum(*each))) for each in (below, above))
    )


def _if_some(rule: str, a: Interval, b: Interval) -> Interval:
    """Apply ``rule`` in the lanes where the second interval is not empty; elsewhere the result is empty."""
    some = b[0] <= b[1]
    low, high = RULES[rule](a, (np.where(some, b[0], 0), np.where(some, b[1], 0)))
    return np.where(some, low, b[0]), np.where(some, high, b[1])
