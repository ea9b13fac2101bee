"""Something about every byte of memory, in pages that are made when they are first touched."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

__all__ = ["PAGE_BITS", "PAGE_BYTES", "Marks", "Pages"]

PAGE_BITS = 12
PAGE_BYTES = 1 << PAGE_BITS
_PAGES = 1 << 32 - PAGE_BITS


class Pages(ABC):
    """A pool of pages; an address stands for a place in it, which stays what it is."""

    def __init__(self) -> None:
        self._table = np.zeros(_PAGES, np.int64)
        self._slots: dict[int, int] = {}
        self._room = 8
        self._grow(self._room)

    @abstractmethod
    def _grow(self, pages: int) -> None:
        """Make room for so many pages; what is there stays."""

    @abstractmethod
    def _fill(self, slot: int, page: int) -> None:
        """Say what a new page holds, which has zeros."""

    def _slot(self, page: int) -> int:
        """The place of a page in the pool, made now if there is none."""
        slot = self._slots.get(page)
        if slot is None:
            slot = len(self._slots)
            if slot == self._room:
                self._room *= 2
                self._grow(self._room)
            self._slots[page] = self._table[page] = slot
            self._fill(slot, page)
        return slot

    def place(self, address: int) -> int:
        """Where the byte at ``address`` is in the pool."""
        return (self._slot(address >> PAGE_BITS) << PAGE_BITS) + (address & PAGE_BYTES - 1)

    def places(self, addresses: np.ndarray, low: int, high: int) -> np.ndarray:
        """Where the bytes at ``addresses`` (uint32, between ``low`` and ``high``) are in the pool (int64)."""
        page = low >> PAGE_BITS
        if page == high >> PAGE_BITS:
            return addresses + np.int64((self._slot(page) << PAGE_BITS) - (page << PAGE_BITS))
        pages = addresses >> PAGE_BITS
        for number in set(pages.tolist()):
            self._slot(number)
        return self._table.take(pages) << PAGE_BITS | addresses & PAGE_BYTES - 1


class Marks(Pages):
    """Of each byte whether it is marked; at first none is."""

    def __init__(self) -> None:
        self._marks = np.zeros(0, bool)
        super().__init__()

    def _grow(self, pages: int) -> None:
        marks = np.zeros(pages * PAGE_BYTES, bool)
        marks[: len(self._marks)] = self._marks
        self._marks = marks

    def _fill(self, slot: int, page: int) -> None:
        """Nothing is marked."""

    def read(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Whether one of ``size`` aligned bytes at each address is marked."""
        places = self.places(addresses, int(addresses.min()), int(addresses.max()))
        marked = self._marks.take(places)
        for byte in range(1, size):
            marked |= self._marks.take(places + byte)
        return marked

    def write(self, addresses: np.ndarray, size: int, marked: np.ndarray | bool) -> None:
        """Mark ``size`` aligned bytes at each address, or take the mark away."""
        places = self.places(addresses, int(addresses.min()), int(addresses.max()))
        for byte in range(size):
            self._marks[places + byte] = marked

    def mark(self, first: int, end: int) -> None:
        """Mark every byte of [first, end)."""
        while first < end:
            stop = min(end, (first | PAGE_BYTES - 1) + 1)
            start = (self._slot(first >> PAGE_BITS) << PAGE_BITS) + (first & PAGE_BYTES - 1)
            self._marks[start : start + stop - first] = True
            first = stop
