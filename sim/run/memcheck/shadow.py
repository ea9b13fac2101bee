"""The shadow of memory: flags, undefined bits and last accesses of each byte."""

from __future__ import annotations

import bisect

import numpy as np

from ...machine.memory.shadow import PAGE_BITS, PAGE_BYTES, Pages
from .areas import DeclaredAreas

__all__ = ["DECLARED", "WORD_BYTES", "WRITTEN", "Cells", "Flags", "spread"]

#: Flags of a byte.
DECLARED, WRITTEN = 1, 2
WORD_BYTES = 4
_ALL_BITS = 0xFF
_DTYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class Flags(Pages):
    """For each byte, whether it is declared, and whether it is defined: WRITTEN, with no undefined bits.

    All bits of a byte that is not WRITTEN are undefined, unless a store wrote undefined bits there: then it has its
    undefined bits, their origin, and the store (both as :class:`.origins.Origins` numbers them; 0: none).
    """

    def __init__(self, declared: DeclaredAreas) -> None:
        self._areas = declared.areas
        self._starts = [area.address for area in declared.areas]
        self._flags = np.zeros(0, np.uint8)
        self._views: dict[int, np.ndarray] = {}
        #: Undefined bits, origins and stores, allocated by the first store of an undefined value.
        self._stored: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        super().__init__()

    def _grow(self, pages: int) -> None:
        flags = np.zeros(pages * PAGE_BYTES, np.uint8)
        flags[: len(self._flags)] = self._flags
        self._flags = flags
        self._views = {size: flags.view(dtype) for size, dtype in _DTYPES.items()}
        if self._stored is not None:
            self._stored = self._nothing_stored(self._stored)

    def _nothing_stored(self, old: tuple[np.ndarray, ...] = ()) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All bits of every byte undefined, except for the bytes that ``old`` covers."""
        size = len(self._flags)
        bits, origins, stores = np.full(size, _ALL_BITS, np.uint8), np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        if old:
            known = len(old[0])
            bits[:known], origins[:known], stores[:known] = old
        return bits, origins, stores

    def _fill(self, slot: int, page: int) -> None:
        first = page << PAGE_BITS
        for area in self._areas[max(0, bisect.bisect_right(self._starts, first) - 1) :]:
            if area.address >= first + PAGE_BYTES:
                break
            low, high = max(area.address, first), min(area.end, first + PAGE_BYTES)
            if low < high:
                start = slot * PAGE_BYTES - first
                self._flags[start + low : start + high] = DECLARED | (WRITTEN if area.written else 0)

    def read(self, places: np.ndarray, size: int) -> np.ndarray:
        """Return the flags of ``size`` bytes at each place, side by side in one number."""
        return self._views[size].take(places if size == 1 else places >> size // 2)

    def read_one(self, address: int, size: int) -> int:
        """Like :meth:`read`, for one address."""
        place = self.place(address)  # this may replace the views
        return self._views[size].item(place >> size // 2)

    def first_undeclared(self, address: int, size: int) -> int:
        """Return the first byte of an access that is not declared; there must be one."""
        return next(byte for byte in range(address, address + size) if not self.read_one(byte, 1) & DECLARED)

    def undefined(self, places: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the undefined bits of ``size`` bytes at each place, and the origin of the first of them (uint32)."""
        bits, origins = np.zeros(len(places), np.uint32), np.zeros(len(places), np.uint32)
        for byte in range(size):
            at = places + byte
            missing = self._flags[at] & WRITTEN == 0
            if self._stored is None:
                found = np.where(missing, np.uint32(_ALL_BITS), np.uint32(0))
            else:
                found = np.where(missing, self._stored[0][at], 0).astype(np.uint32)
                origins = np.where((origins == 0) & (found != 0), self._stored[1][at], origins)
            bits |= found << np.uint32(8 * byte)
        return bits, origins

    def write(self, places: np.ndarray, size: int, flags: np.ndarray) -> None:
        """Note a write of ``size`` bytes at each place, whose ``flags`` were read before."""
        self._views[size][places if size == 1 else places >> size // 2] = flags | spread(WRITTEN, size)

    def write_undefined(
        self, places: np.ndarray, size: int, bits: np.ndarray, origins: np.ndarray, stores: np.ndarray
    ) -> None:
        """Note a write of ``size`` bytes at each place, of which ``bits`` are undefined."""
        if self._stored is None:
            self._stored = self._nothing_stored()
        for byte in range(size):
            at, undefined = places + byte, (bits >> np.uint32(8 * byte) & _ALL_BITS).astype(np.uint8)
            self._flags[at] = np.where(undefined != 0, DECLARED, DECLARED | WRITTEN).astype(np.uint8)
            for array, values in zip(self._stored, (undefined, origins, stores), strict=True):
                array[at] = values

    def forget(self, first: int, end: int) -> None:
        """Mark the bytes of [first, end) as never written."""
        while first < end:
            stop = min(end, (first | PAGE_BYTES - 1) + 1)
            start = (self._slot(first >> PAGE_BITS) << PAGE_BITS) + (first & PAGE_BYTES - 1)
            self._flags[start : start + stop - first] &= ~np.uint8(WRITTEN)
            if self._stored is not None:
                for array, nothing in zip(self._stored, (_ALL_BITS, 0, 0), strict=True):
                    array[start : start + stop - first] = nothing
            first = stop

    def stored(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the bytes that still hold stored undefined bits: addresses, ascending, origins, stores (uint32)."""
        if self._stored is None:
            return tuple(np.zeros((3, 0), np.uint32))  # type: ignore[return-value]
        _, origins, stores = self._stored
        places = np.flatnonzero((stores != 0) & (self._flags & WRITTEN == 0))
        pages = np.zeros(len(self._flags) >> PAGE_BITS, np.int64)
        for page, slot in self._slots.items():
            pages[slot] = page
        addresses = pages[places >> PAGE_BITS] << PAGE_BITS | places & PAGE_BYTES - 1
        order = np.argsort(addresses)
        return addresses[order].astype(np.uint32), origins[places][order], stores[places][order]


class Cells(Pages):
    """A cell for each word: ``writes`` has its last writer, ``reads`` (cells, warps) its last reader of each warp.

    A cell holds a number that the caller chooses, 0 at first. From the first access of less than a word that is asked
    for, there is permanently a cell for each byte instead: most programs need none.
    """

    def __init__(self, warps: int) -> None:
        self._bytewise = False
        self.writes = np.zeros(0, np.uint32)
        self.reads = np.zeros((0, warps), np.uint32)
        super().__init__()

    def _grow(self, pages: int) -> None:
        cells = pages * PAGE_BYTES // (1 if self._bytewise else WORD_BYTES)
        writes, reads = np.zeros(cells, np.uint32), np.zeros((cells, self.reads.shape[1]), np.uint32)
        writes[: len(self.writes)] = self.writes
        reads[: len(self.reads)] = self.reads
        self.writes, self.reads = writes, reads

    def _fill(self, slot: int, page: int) -> None:
        """Fill a page with cells that nothing has accessed."""

    def of(self, addresses: np.ndarray, size: int) -> tuple[np.ndarray, int]:
        """Return the cells of ``size`` bytes at each of ``addresses``, one after the other, and the number for each."""
        places = self.places(addresses, int(addresses.min()), int(addresses.max()))
        if size < WORD_BYTES and not self._bytewise:
            self._bytewise = True
            self.writes, self.reads = np.repeat(self.writes, WORD_BYTES), np.repeat(self.reads, WORD_BYTES, axis=0)
        if not self._bytewise:
            return places >> 2, 1
        if size == 1:
            return places, 1
        return (places[:, None] + np.arange(size)).reshape(-1), size

    def word(self, address: int) -> int | None:
        """Return the cell of the word at ``address``; None if each byte has one."""
        return None if self._bytewise else self.place(address) >> 2

    def clear(self) -> None:
        """Reset every cell to 0."""
        self.writes[:] = 0
        self.reads[:] = 0


def spread(flag: int, size: int) -> int:
    """Return ``flag`` in each of ``size`` bytes."""
    return int.from_bytes(bytes([flag]) * size, "little")
