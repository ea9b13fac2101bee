"""Ranges of inputs that a program reads before it overwrites them. All other ranges have no effect."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...machine.memory.shadow import Marks
from .inputs import Range, RangeError

__all__ = ["RangeReads", "require_read"]


class RangeReads:
    """Tracks loads and stores of ranges.

    ``unread``: the ranges that no load has read before a store to them. ``lost``: the ranges that were stored to
    before ``main``, for example because the start-up code clears variables.
    """

    def __init__(self, ranges: Iterable[Range]) -> None:
        self.unread = list(ranges)
        self.lost: list[Range] = []
        self._fresh = Marks()
        for each in self.unread:
            self._fresh.mark(each.first, each.end)

    def arrive(self, ranges: Iterable[Range]) -> None:
        """Set these ranges again when ``main`` is entered."""
        for each in ranges:
            if not self._fresh.read(np.arange(each.first, each.end, dtype=np.uint32), 1).all():
                self.lost.append(each)
            self._fresh.mark(each.first, each.end)

    def load(self, addresses: np.ndarray, size: int) -> None:
        """Record a load of ``size`` bytes at each of ``addresses``."""
        if not len(addresses) or not self.unread:
            return
        fresh = addresses[self._fresh.read(addresses, size)].astype(np.int64)
        if len(fresh):
            self.unread = [each for each in self.unread if not ((fresh < each.end) & (fresh + size > each.first)).any()]

    def load_between(self, first: int, end: int) -> None:
        """Record a load from somewhere in [first, end)."""
        self.unread = [each for each in self.unread if each.end <= first or end <= each.first]

    def store(self, addresses: np.ndarray, size: int) -> None:
        """Record a store of ``size`` bytes to each of ``addresses``."""
        self._fresh.write(addresses, size, False)

    def stored(self, each: Range) -> bool:
        """Return whether the whole range has been stored to."""
        return not self._fresh.read(np.arange(each.first, each.end, dtype=np.uint32), 1).any()


def require_read(unread: Iterable[Range], reads: RangeReads) -> None:
    """Raise RangeError if a range is ``unread``; ``reads``: the accesses of a whole run."""
    for each in unread:
        if reads.stored(each):
            raise RangeError(
                f"{each.text}: the program stores to {each.name} before it reads it, so its range cannot hold"
            )
        raise RangeError(
            f"{each.text}: the program's code does not read {each.name}, perhaps because the compiler knows its "
            "value: declare it volatile, or leave out the range"
        )
