"""Shadow memory: data about every byte of memory, in pages that are allocated on first use."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

__all__ = ["PAGE_BITS", "PAGE_BYTES", "Marks", "Pages"]

PAGE_BITS = 12
PAGE_BYTES = 1 << PAGE_BITS
_PAGES = 1 << 32 - PAGE_BITS


class Pages(ABC):
    """A pool of pages; each address has a fixed place in it."""

    def __init__(self) -> None:
        self._table = np.zeros(_PAGES, np.int64)
        self._slots: dict[int, int] = {}
        self._room = 8
        self._grow(self._room)

    @abstractmethod
    def _grow(self, pages: int) -> None:
        """Enlarge the pool to ``pages`` pages, keeping its contents."""

    @abstractmethod
    def _fill(self, slot: int, page: int) -> None:
        """Initialise a new page, which holds zeros."""

    def _slot(self, page: int) -> int:
        """Return the place of a page in the pool, allocating it if necessary."""
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
        """Return the place of the byte at ``address`` in the pool."""
        return (self._slot(address >> PAGE_BITS) << PAGE_BITS) + (address & PAGE_BYTES - 1)

    def places(self, addresses: np.ndarray, low: int, high: int) -> np.ndarray:
        """Return the places in the pool (int64) of the bytes at ``addresses`` (uint32, from ``low`` to ``high``)."""
        page = low >> PAGE_BITS
        if page == high >> PAGE_BITS:
            return addresses + np.int64((self._slot(page) << PAGE_BITS) - (page << PAGE_BITS))
        pages = addresses >> PAGE_BITS
        for number in set(pages.tolist()):
            self._slot(number)
        return self._table.take(pages) << PAGE_BITS | addresses & PAGE_BYTES - 1


class Marks(Pages):
    """A mark for each byte, initially not set."""

    def __init__(self) -> None:
        self._marks = np.zeros(0, bool)
        super().__init__()

    def _grow(self, pages: int) -> None:
        marks = np.zeros(pages * PAGE_BYTES, bool)
        marks[: len(self._marks)] = self._marks
        self._marks = marks

    def _fill(self, slot: int, page: int) -> None:
        """Leave the bytes of a new page unmarked."""

    def read(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """Return, for each address, whether one of the ``size`` aligned bytes there is marked."""
        places = self.places(addresses, int(addresses.min()), int(addresses.max()))
        marked = self._marks.take(places)
        for byte in range(1, size):
            marked |= self._marks.take(places + byte)
        return marked

    def write(self, addresses: np.ndarray, size: int, marked: np.ndarray | bool) -> None:
        """Set or clear the marks of ``size`` aligned bytes at each address."""
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
