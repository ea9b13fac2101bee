"""Which of the inputs that have a range a program reads as they come to it: of the others a range says nothing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...machine.memory.shadow import Marks
from .inputs import Range, RangeError

__all__ = ["RangeReads", "require_read"]


class RangeReads:
    """Follows loads and stores. ``unread``: the ranges of which nothing has been loaded that was not stored before.

    ``lost``: those of which something has been stored to before ``main``; the start-up code clears what is zero.
    """

    def __init__(self, ranges: Iterable[Range]) -> None:
        self.unread = list(ranges)
        self.lost: list[Range] = []
        self._fresh = Marks()
        for each in self.unread:
            self._fresh.mark(each.first, each.end)

    def arrive(self, ranges: Iterable[Range]) -> None:
        """The numbers of these ranges come again, as ``main`` is entered."""
        for each in ranges:
            if not self._fresh.read(np.arange(each.first, each.end, dtype=np.uint32), 1).all():
                self.lost.append(each)
            self._fresh.mark(each.first, each.end)

    def load(self, addresses: np.ndarray, size: int) -> None:
        """``size`` bytes are loaded at each of ``addresses``."""
        if not len(addresses) or not self.unread:
            return
        fresh = addresses[self._fresh.read(addresses, size)].astype(np.int64)
        if len(fresh):
            self.unread = [
                each for each in self.unread if not ((fresh < each.end) & (fresh + size > each.first)).any()
            ]

    def load_between(self, first: int, end: int) -> None:
        """Something of [first, end) may be loaded."""
        self.unread = [each for each in self.unread if each.end <= first or end <= each.first]

    def store(self, addresses: np.ndarray, size: int) -> None:
        """``size`` bytes are stored to each of ``addresses``."""
        self._fresh.write(addresses, size, False)

    def stored(self, each: Range) -> bool:
        """Whether all that a range is of has been stored to."""
        return not self._fresh.read(np.arange(each.first, each.end, dtype=np.uint32), 1).any()


def require_read(unread: Iterable[Range], reads: RangeReads) -> None:
    """Raise RangeError for the first of the ranges that are ``unread``; ``reads``: of a whole run."""
    for each in unread:
        if reads.stored(each):
            raise RangeError(
                f"{each.text}: the program stores to {each.name} before it reads it, so no range of it can hold"
            )
        raise RangeError(
            f"{each.text}: the program's code does not read {each.name}, perhaps since the compiler knows its value: "
            "declare it volatile, or leave the range out"
        )
