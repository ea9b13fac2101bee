"""Thread masks with unknown lanes, and refinement of a path by a condition."""

from __future__ import annotations

import numpy as np

from ..code.intervals import RULES
from ..code.numbers import TOP, Interval, from_integers, meet, normal, signed, unsigned, without
from .conditions import ZERO, Condition, ValueNumbers
from .path import Path

__all__ = ["bits_of", "interval_of", "mask_between", "outcome", "refine", "word_of"]

#: The most nested sums and differences that a refinement follows.
_SUMS = 16


def word_of(lanes: np.ndarray) -> int:
    """Convert lanes to a thread mask."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


def bits_of(word: int, threads: int) -> np.ndarray:
    """Convert a thread mask to lanes."""
    return (word >> np.arange(threads) & 1).astype(bool)


def mask_between(low: int, high: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lanes that may be, and must be, in any thread mask between two numbers."""
    low, high = low & TOP, high & TOP
    same = ~((1 << (low ^ high).bit_length()) - 1)
    return bits_of(high | ~same & TOP, threads), bits_of(low & same, threads)


def outcome(kind: str, a: Interval, b: Interval) -> tuple[np.ndarray, np.ndarray]:
    """Return the lanes in which a comparison is certainly true, and those in which it is certainly false."""
    if kind == "eq":
        same = (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0])
        return same, ~meet(a, b)[1]
    order = signed if kind == "lt" else unsigned
    a, b = order(a), order(b)
    return a[1] < b[0], a[0] >= b[1]


def interval_of(path: Path, value: int, values: ValueNumbers) -> Interval:
    """Return the interval of a value, from all registers that hold or have held it."""
    lanes, constant = len(path.may), values.known(value)
    if constant is not None:
        return np.full(lanes, constant, np.int64), np.full(lanes, constant, np.int64)
    interval = path.intervals.get(value, (np.zeros(lanes, np.int64), np.full(lanes, TOP)))
    for register, number in enumerate(path.numbers):
        if number == value:
            interval = meet(interval, path.on.numbers(register))[0]
    return interval


def refine(path: Path, condition: Condition, values: ValueNumbers) -> bool:
    """Assume that a condition is true in every active lane; return False if that is impossible.

    Lanes in which it cannot be true become inactive.
    """
    if not _refine(path, condition, values):
        return False
    if condition.kind in ("lt", "ltu"):
        return all(_refine_distances(path, value, values) for value in (condition.a, condition.b))
    if condition.kind != "eq":
        return True
    if not condition.holds and ZERO in (condition.a, condition.b):
        _note_no_zero(path, condition.a or condition.b, values)
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


def _refine_distances(path: Path, value: int, values: ValueNumbers) -> bool:
    """Refine values at a constant distance, too: a loop may increment its counter before the branch tests it."""
    if values.known(value) is not None:
        return True
    base, added = values.base(value)
    interval = interval_of(path, value, values)
    for each in set(path.numbers) | set(path.intervals):
        source, more = values.base(each)
        if source != base or each == value:
            continue
        distance = np.full(len(path.may), more - added & TOP, np.int64)
        narrower, possible = meet(interval_of(path, each, values), RULES["add"](interval, (distance, distance)))
        if not (_possible(path, possible) and _hold(path, each, narrower)):
            return False
    return True


def _note_no_zero(path: Path, value: int, values: ValueNumbers) -> None:
    """Record that a value of either sign is not 0. No interval says so; instead, ``sltu`` of 0 and the value is 1."""
    low, high = signed(interval_of(path, value, values))
    if bool(((low < 0) & (high > 0))[path.may].any()):
        one = np.ones(len(path.may), np.int64)
        path.intervals.note(values.of("sltu", ZERO, value), (path.may.astype(np.int64), one))


def _refine_sums(path: Path, base: int, number: np.ndarray, values: ValueNumbers, *, holds: bool) -> bool:
    """Assume that value ``base`` is ``number``, or is not; refine all values that are ``base`` plus a constant."""
    for each in set(path.numbers) | set(path.intervals):
        source, added = values.base(each)
        if source == base and not _refine_equal(path, each, number + added & TOP, values, holds=holds):
            return False
    return True


def _certain(path: Path, value: int, values: ValueNumbers) -> np.ndarray | None:
    """Return the constant that a value equals in each lane; None if it is unknown in an active lane."""
    low, high = interval_of(path, value, values)
    return low if bool((low == high)[path.may].all()) else None


def _source(path: Path, values: ValueNumbers, value: int, number: np.ndarray) -> tuple[int, np.ndarray] | None:
    """If a value is a sum or difference with one known operand, return the other operand and its value."""
    name, first, second = values.operation(value)
    if name not in ("add", "sub") or isinstance(second, tuple):
        return None
    known = _certain(path, second, values)
    if known is not None:
        return first, (number - known if name == "add" else number + known) & TOP
    known = _certain(path, first, values)
    if known is None:
        return None
    return second, (number - known if name == "add" else known - number) & TOP


def _refine_equal(path: Path, value: int, number: np.ndarray, values: ValueNumbers, *, holds: bool) -> bool:
    """Assume that in every active lane a value is ``number``, or is not."""
    interval = interval_of(path, value, values)
    interval, possible = meet(interval, (number, number)) if holds else without(interval, number)
    return _possible(path, possible) and _hold(path, value, interval)


def _possible(path: Path, possible: np.ndarray) -> bool:
    """Deactivate lanes that are not ``possible``; return False if that is impossible."""
    if bool((path.must & ~possible).any()) or not bool((path.may & possible).any()):
        return False
    if bool((path.may & ~possible).any()):
        path.constrain(path.may & possible, path.must)
    return True


def _hold(path: Path, value: int, interval: Interval) -> bool:
    """Narrow a value, and each register that holds it, to an interval; return False if that is impossible."""
    if value == ZERO:
        return True
    if value in path.intervals:
        narrower, possible = meet(path.intervals[value], interval)
        path.intervals[value] = _where(path.may & possible, narrower, path.intervals[value])
    return all(
        _narrow(path, register, interval)
        for register, number in enumerate(path.numbers)
        if number == value and not path.on.known(register, path.may)
    )


def _refine(path: Path, condition: Condition, values: ValueNumbers) -> bool:
    first, second = interval_of(path, condition.a, values), interval_of(path, condition.b, values)
    if condition.kind == "bit":
        low, high = unsigned(first)
        flags = (high <= 1) & path.may
        wanted = int(condition.holds)
        low, high = np.where(flags, np.maximum(low, wanted), low), np.where(flags, np.minimum(high, wanted), high)
        possible = low <= high
        first = _where(flags, (low, high), first)
    elif condition.kind == "eq":
        first, second, possible = _equal(first, second, holds=condition.holds)
    else:
        first, second, possible = _ordered(condition, first, second)
    return _possible(path, possible) and _hold(path, condition.a, first) and _hold(path, condition.b, second)


def _ordered(condition: Condition, first: Interval, second: Interval) -> tuple[Interval, Interval, np.ndarray]:
    """Narrow two operands by an order comparison; return them and the lanes in which the condition is possible."""
    order = unsigned if condition.kind == "ltu" else signed
    (low, high), (other_low, other_high) = order(first), order(second)
    if condition.holds:
        high, other_low = np.minimum(high, other_high - 1), np.maximum(other_low, low + 1)
    else:
        low, other_high = np.maximum(low, other_low), np.minimum(other_high, high)
    possible = (low <= high) & (other_low <= other_high)
    # Lanes where it is impossible do not matter; elsewhere low <= high.
    first, some = meet(first, from_integers(low, np.maximum(low, high)))
    second, others = meet(second, from_integers(other_low, np.maximum(other_low, other_high)))
    return first, second, possible & some & others


def _where(where: np.ndarray, a: Interval, b: Interval) -> Interval:
    return np.where(where, a[0], b[0]), np.where(where, a[1], b[1])


def _narrow(path: Path, register: int, interval: Interval) -> bool:
    """Narrow a register to an interval in the active lanes; return False if that is impossible."""
    least, greatest = interval
    first, step = path.on.numbers(register)[0], path.on.step(register)
    if bool((greatest > TOP).any()):
        # Steps apply to integers only.
        step = 0
    if step:
        # Round the ends to multiples of the step.
        every = (1 << step) - 1
        least, greatest = least + (first - least & every), greatest - (greatest - first & every)
    if not _possible(path, least <= greatest):
        return False
    path.on.put(register, path.may, *normal(least, greatest), step)
    return True


def _equal(first: Interval, second: Interval, *, holds: bool) -> tuple[Interval, Interval, np.ndarray]:
    if holds:
        both, possible = meet(first, second)
        return both, both, possible
    known, other_known = first[0] == first[1], second[0] == second[1]
    trimmed, some = without(first, second[0])
    other_trimmed, others = without(second, first[0])
    possible = (some | ~other_known) & (others | ~known)
    return _where(other_known, trimmed, first), _where(known, other_trimmed, second), possible
