"""Intervals of 32-bit words in the order of unsigned numbers, signed numbers, or float32.

An interval is a pair (least, greatest) of int64 arrays with an element for each lane. It has one of three forms:

- unsigned: 0 <= least <= greatest < 2**32;
- signed, with both signs: -2**31 <= least < 0 <= greatest < 2**31;
- float32, with both signs and no NaN: the places of the ends in the order of float32, plus :data:`_REAL`.

An interval of one sign has the unsigned form. Each function takes any form, and returns an interval that contains at
least all possible words.
"""

from __future__ import annotations

import numpy as np

__all__ = ["TOP", "Interval", "from_integers", "from_places", "hull", "meet", "normal", "places", "signed", "unsigned",
           "without", "word_hull"]

Interval = tuple[np.ndarray, np.ndarray]
#: The greatest unsigned number.
TOP = (1 << 32) - 1
_MODULUS = TOP + 1
_SIGN = 1 << 31
#: Added to places of float32, so that they are far above every integer.
_REAL = 1 << 40
#: The greatest place of a float32 that is not a NaN: infinity.
_INFINITY = 0x7F80_0000


def _plain(a: Interval) -> bool:
    """Return whether all lanes have the unsigned form."""
    return bool((a[0] >= 0).all() and (a[1] <= TOP).all())


def _is_real(a: Interval) -> np.ndarray:
    return a[1] > TOP


def unsigned(a: Interval) -> Interval:
    """Convert to the order of unsigned numbers."""
    if _plain(a):
        return a
    low, high = a
    real = _is_real(a)
    # The lowest negative float32 is the greatest word.
    top = np.where(real, _SIGN - 1 - (low - _REAL), TOP)
    other = (low < 0) | real
    return np.where(other, 0, low), np.where(other, top, high)


def signed(a: Interval) -> Interval:
    """Convert to the order of signed numbers."""
    low, high = a
    if _plain(a) and bool((high < _SIGN).all()):
        return a
    real = _is_real(a)
    shift = np.where((low >= _SIGN) & ~real, _MODULUS, 0)
    mixed = ((low < _SIGN) & (high >= _SIGN)) | real
    return np.where(mixed, -_SIGN, low - shift), np.where(real, high - _REAL, np.where(mixed, _SIGN - 1, high - shift))


def places(a: Interval) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Convert to places in the order of float32 (-0.0 at -1, 0.0 at 0); also return the lanes without a NaN."""
    low, high = a
    real = _is_real(a)
    positive = (low >= 0) & (high <= _INFINITY)
    negative = (low >= _SIGN) & (high <= _SIGN + _INFINITY) & ~real
    least = np.where(real, low - _REAL, np.where(negative, _SIGN - 1 - high, low))
    greatest = np.where(real, high - _REAL, np.where(negative, _SIGN - 1 - low, high))
    valid = real | positive | negative
    return np.where(valid, least, -_INFINITY - 1), np.where(valid, greatest, _INFINITY), valid


def from_integers(low: np.ndarray, high: np.ndarray) -> Interval:
    """Return the interval of all integers from ``low`` to ``high``, modulo 2**32."""
    first = low % _MODULUS
    last = first + (high - low)
    # An interval that wraps as unsigned numbers may still be one of signed numbers.
    over = last > TOP
    fits = ~over | ((first >= _SIGN) & (last - _MODULUS < _SIGN))
    first, last = np.where(over, first - _MODULUS, first), np.where(over, last - _MODULUS, last)
    fits &= high - low < _MODULUS
    return np.where(fits, first, 0), np.where(fits, last, TOP)


def from_places(low: np.ndarray, high: np.ndarray) -> Interval:
    """Return the interval of all float32 between two places."""
    negative, mixed = high < 0, (low < 0) & (high >= 0)
    least = np.where(mixed, low + _REAL, np.where(negative, _SIGN - 1 - high, low))
    return least, np.where(mixed, high + _REAL, np.where(negative, _SIGN - 1 - low, high))


def hull(a: Interval, b: Interval) -> Interval:
    """Return the narrowest interval that contains both; an interval with low > high is empty."""
    empty, other = a[0] > a[1], b[0] > b[1]
    if empty.any() or other.any():
        a, b = _chosen(empty, b, a), _chosen(other, a, b)
    first, second = unsigned(a), unsigned(b)
    best = np.minimum(first[0], second[0]), np.maximum(first[1], second[1])
    if _plain(a) and _plain(b) and bool(((best[1] < _SIGN) | (best[0] >= _SIGN)).all()):
        # With one sign, no other order is narrower.
        return best
    first, second = signed(a), signed(b)
    best = _narrower(best, from_integers(np.minimum(first[0], second[0]), np.maximum(first[1], second[1])))
    low, high, valid = places(a)
    other_low, other_high, other_valid = places(b)
    real = from_places(np.minimum(low, other_low), np.maximum(high, other_high))
    return _narrower(best, _chosen(valid & other_valid, real, best))


def meet(a: Interval, b: Interval) -> tuple[Interval, np.ndarray]:
    """Return an interval that contains the intersection, and the lanes in which that may be non-empty."""
    if _plain(a) and _plain(b):
        both = np.maximum(a[0], b[0]), np.minimum(a[1], b[1])
        possible = both[0] <= both[1]
        return _chosen(possible, both, a), possible
    best = _narrower(a, b)
    possible = np.ones(len(best[0]), bool)
    for first, second, back in ((unsigned(a), unsigned(b), from_integers), (signed(a), signed(b), from_integers)):
        low, high = np.maximum(first[0], second[0]), np.minimum(first[1], second[1])
        some = low <= high
        possible &= some
        best = _narrower(best, _chosen(some, back(low, np.maximum(low, high)), best))
    low, high, valid = places(a)
    other_low, other_high, other_valid = places(b)
    both_real = valid & other_valid
    low, high = np.maximum(low, other_low), np.minimum(high, other_high)
    possible &= ~both_real | (low <= high)
    real = from_places(low, np.maximum(low, high))
    return _narrower(best, _chosen(both_real & (low <= high), real, best)), possible


def word_hull(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Return :func:`hull` for one lane."""
    low, high = hull(*((np.array([each[0]]), np.array([each[1]])) for each in (a, b)))
    return int(low[0]), int(high[0])


def normal(low: np.ndarray, high: np.ndarray) -> Interval:
    """Restore the unsigned form where moved ends leave only negative numbers."""
    below = high < 0
    return np.where(below, low + _MODULUS, low), np.where(below, high + _MODULUS, high)


def without(a: Interval, number: np.ndarray) -> tuple[Interval, np.ndarray]:
    """Remove a known number if it is an end; also return the lanes in which the rest may be non-empty."""
    low, high = a
    integer = ~_is_real(a)
    low = np.where(integer & (low & TOP == number), low + 1, low)
    high = np.where(integer & (high & TOP == number), high - 1, high)
    possible = low <= high
    return _chosen(possible, normal(low, high), a), possible


def _narrower(a: Interval, b: Interval) -> Interval:
    return _chosen(b[1] - b[0] < a[1] - a[0], b, a)


def _chosen(where: np.ndarray, a: Interval, b: Interval) -> Interval:
    return np.where(where, a[0], b[0]), np.where(where, a[1], b[1])
