"""Thread masks when it is not known which lanes are active, and conditions that make intervals narrower."""

from __future__ import annotations

import numpy as np

from .conditions import ZERO, Condition, Values
from .lanes import TOP
from .paths import Path

__all__ = ["bits_of", "interval_of", "mask_between", "outcome", "refine", "word_of"]

_SIGN = 1 << 31
#: So many sums and differences of others are looked through, at most.
_SUMS = 16


def word_of(lanes: np.ndarray) -> int:
    """Lanes as a thread mask."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


def bits_of(word: int, threads: int) -> np.ndarray:
    """A thread mask as lanes."""
    return (word >> np.arange(threads) & 1).astype(bool)


def mask_between(low: int, high: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """The lanes that may be, and that must be, in a thread mask between two numbers."""
    low, high = low & TOP, high & TOP
    same = ~((1 << (low ^ high).bit_length()) - 1)
    return bits_of(high | ~same & TOP, threads), bits_of(low & same, threads)


def outcome(kind: str, a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> tuple:
    """Of each lane whether the condition holds for certain, and whether it does not, for intervals of operands."""
    if kind == "eq":
        same = (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0])
        return same, (a[1] < b[0]) | (b[1] < a[0])
    if kind == "lt":
        a, b = _signed(a), _signed(b)
    return a[1] < b[0], a[0] >= b[1]


def _signed(a: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    low, high = a
    mixed = (low < _SIGN) & (high >= _SIGN)
    shift = np.where(low >= _SIGN, 1 << 32, 0)
    return np.where(mixed, -_SIGN, low - shift), np.where(mixed, _SIGN - 1, high - shift)


def interval_of(path: Path, value: int, values: Values) -> tuple[np.ndarray, np.ndarray]:
    """What the value of that number lies in, by any register that holds it, or did."""
    lanes, constant = len(path.may), values.known(value)
    if constant is not None:
        return np.full(lanes, constant, np.int64), np.full(lanes, constant, np.int64)
    low, high = path.seen.get(value, (np.zeros(lanes, np.int64), np.full(lanes, TOP)))
    for register, number in enumerate(path.numbers):
        if number == value:
            mine = path.on.interval(register)
            low, high = np.maximum(low, mine[0]), np.minimum(high, mine[1])
    return low, high


def refine(path: Path, condition: Condition, values: Values) -> bool:
    """In every active lane the condition is true; False if that cannot be.

    A lane that cannot be active any more is not. ``values``: how the operands were computed.
    """
    if not _refine(path, condition, values):
        return False
    if condition.kind != "eq":
        return True
    for value, other in ((condition.a, condition.b), (condition.b, condition.a)):
        number = _certain(path, other, values)
        for _ in range(_SUMS):
            if number is None:
                break
            base, added = values.base(value)
            number = number - added & TOP
            if not _refine_sums(path, base, number, values, holds=condition.holds):
                return False
            step = _source(path, values, base, number)
            if step is None:
                break
            value, number = step
    return True


def _refine_sums(path: Path, base: int, number: np.ndarray, values: Values, *, holds: bool) -> bool:
    """The value of the number ``base`` is ``number``, or is not; and so all registers that hold it plus a constant."""
    for each in set(path.numbers) | set(path.seen):
        source, added = values.base(each)
        if source == base and not _refine_equal(path, each, number + added & TOP, values, holds=holds):
            return False
    return True


def _certain(path: Path, value: int, values: Values) -> np.ndarray | None:
    """The value of that number in each active lane; None if it is not known."""
    low, high = interval_of(path, value, values)
    return low if bool((low == high)[path.may].all()) else None


def _source(path: Path, values: Values, value: int, number: np.ndarray) -> tuple[int, np.ndarray] | None:
    """If a value is a sum or difference with one that is known: the other operand, and what that is compared to."""
    name, first, second = values.made(value)
    if name not in ("add", "sub") or isinstance(second, tuple):
        return None
    known = _certain(path, second, values)
    if known is not None:
        return first, (number - known if name == "add" else number + known) & TOP
    known = _certain(path, first, values)
    if known is None:
        return None
    return second, (number - known if name == "add" else known - number) & TOP


def _refine_equal(path: Path, value: int, number: np.ndarray, values: Values, *, holds: bool) -> bool:
    """In every active lane the value of that number is ``number``, or is not."""
    low, high = interval_of(path, value, values)
    if holds:
        low, high = np.maximum(low, number), np.minimum(high, number)
    else:
        low, high = np.where(low == number, low + 1, low), np.where(high == number, high - 1, high)
    return _possible(path, low <= high) and _hold(path, value, low, high)


def _possible(path: Path, possible: np.ndarray) -> bool:
    """Only lanes that are ``possible`` can be active; False if no way is left."""
    if bool((path.must & ~possible).any()) or not bool((path.may & possible).any()):
        return False
    if bool((path.may & ~possible).any()):
        path.know(path.may & possible, path.must)
    return True


def _hold(path: Path, value: int, least: np.ndarray, greatest: np.ndarray) -> bool:
    """Each register with the value of that number lies in this interval; False if one cannot."""
    if value == ZERO:
        return True
    return all(
        _narrow(path, register, least, greatest)
        for register, number in enumerate(path.numbers)
        if number == value and not path.on.known(register, path.may)
    )


def _refine(path: Path, condition: Condition, values: Values) -> bool:
    low, high = interval_of(path, condition.a, values)
    other_low, other_high = interval_of(path, condition.b, values)
    if condition.kind == "bit":
        flags = (high <= 1) & path.may
        wanted = int(condition.holds)
        low, high = np.where(flags, np.maximum(low, wanted), low), np.where(flags, np.minimum(high, wanted), high)
    elif condition.kind == "eq":
        low, high, other_low, other_high = _equal(low, high, other_low, other_high, holds=condition.holds)
    else:
        # As signed numbers only where both are positive, so that the order is the same.
        fits = np.ones_like(path.may) if condition.kind == "ltu" else (high < _SIGN) & (other_high < _SIGN)
        if condition.holds:
            high = np.where(fits, np.minimum(high, other_high - 1), high)
            other_low = np.where(fits, np.maximum(other_low, low + 1), other_low)
        else:
            low = np.where(fits, np.maximum(low, other_low), low)
            other_high = np.where(fits, np.minimum(other_high, high), other_high)
    possible = (low <= high) & (other_low <= other_high)
    return (
        _possible(path, possible) and _hold(path, condition.a, low, high)
        and _hold(path, condition.b, other_low, other_high)
    )


def _narrow(path: Path, register: int, least: np.ndarray, greatest: np.ndarray) -> bool:
    """The register of the active lanes lies in this interval; False if it cannot."""
    first, step = path.on.interval(register)[0], path.on.step(register)
    # Only every so many numbers are possible.
    least = first + (-(-(least - first) >> step) << step) if step else least
    greatest = first + (greatest - first >> step << step) if step else greatest
    if not _possible(path, least <= greatest):
        return False
    path.on.put(register, path.may, least, greatest, step)
    return True


def _equal(
    low: np.ndarray, high: np.ndarray, other_low: np.ndarray, other_high: np.ndarray, *, holds: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if holds:
        low = other_low = np.maximum(low, other_low)
        high = other_high = np.minimum(high, other_high)
        return low, high, other_low, other_high
    one, other = low == high, other_low == other_high
    trimmed_low = np.where(other & (low == other_low), low + 1, low)
    trimmed_high = np.where(other & (high == other_low), high - 1, high)
    other_trimmed_low = np.where(one & (other_low == low), other_low + 1, other_low)
    other_trimmed_high = np.where(one & (other_high == low), other_high - 1, other_high)
    return trimmed_low, trimmed_high, other_trimmed_low, other_trimmed_high
