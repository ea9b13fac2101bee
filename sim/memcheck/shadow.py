"""What is known of each byte of memory."""

from __future__ import annotations

import bisect

import numpy as np

from metronome.sim.memory.shadow import PAGE_BITS, PAGE_BYTES, Pages

from .areas import Declared

__all__ = ["DECLARED", "WRITTEN", "Cells", "Flags", "spread"]

#: Flags of a byte.
DECLARED, WRITTEN = 1, 2
_WORD_BYTES = 4
_DTYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class Flags(Pages):
    """Of each byte whether it is declared, and whether somebody has written it."""

    def __init__(self, declared: Declared) -> None:
        self._areas = declared.areas
        self._starts = [area.address for area in declared.areas]
        self._flags = np.zeros(0, np.uint8)
        self._views: dict[int, np.ndarray] = {}
        super().__init__()

    def _grow(self, pages: int) -> None:
        flags = np.zeros(pages * PAGE_BYTES, np.uint8)
        flags[: len(self._flags)] = self._flags
        self._flags = flags
        self._views = {size: flags.view(dtype) for size, dtype in _DTYPES.items()}

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
        """The flags of ``size`` bytes at each place, side by side in one number."""
        return self._views[size].take(places if size == 1 else places >> size // 2)

    def write(self, places: np.ndarray, size: int, flags: np.ndarray) -> None:
        """Note a write of ``size`` bytes at each place, of which these were the ``flags``."""
        self._views[size][places if size == 1 else places >> size // 2] = flags | spread(WRITTEN, size)

    def forget(self, first: int, end: int) -> None:
        """The bytes of [first, end) are as if nobody had written them."""
        while first < end:
            stop = min(end, (first | PAGE_BYTES - 1) + 1)
            start = (self._slot(first >> PAGE_BITS) << PAGE_BITS) + (first & PAGE_BYTES - 1)
            self._flags[start : start + stop - first] &= ~np.uint8(WRITTEN)
            first = stop


class Cells(Pages):
    """A cell a word: in ``writes`` who wrote it last, in ``reads`` (cells, warps) who of each warp read it last.

    A cell holds a number that the caller chooses, 0 at first. There is one a byte, for good, from the first access on
    that is asked for by less than a word: most programs have none.
    """

    def __init__(self, warps: int) -> None:
        self._bytewise = False
        self.writes = np.zeros(0, np.uint32)
        self.reads = np.zeros((0, warps), np.uint32)
        super().__init__()

    def _grow(self, pages: int) -> None:
        cells = pages * PAGE_BYTES // (1 if self._bytewise else _WORD_BYTES)
        writes, reads = np.zeros(cells, np.uint32), np.zeros((cells, self.reads.shape[1]), np.uint32)
        writes[: len(self.writes)] = self.writes
        reads[: len(self.reads)] = self.reads
        self.writes, self.reads = writes, reads

    def _fill(self, slot: int, page: int) -> None:
        """Nobody has been there."""

    def of(self, addresses: np.ndarray, size: int) -> tuple[np.ndarray, int]:
        """The cells of ``size`` bytes at each of ``addresses``, one after the other, and how many each has."""
        places = self.places(addresses, int(addresses.min()), int(addresses.max()))
        if size < _WORD_BYTES and not self._bytewise:
            self._bytewise = True
            self.writes, self.reads = np.repeat(self.writes, _WORD_BYTES), np.repeat(self.reads, _WORD_BYTES, axis=0)
        if not self._bytewise:
            return places >> 2, 1
        if size == 1:
            return places, 1
        return (places[:, None] + np.arange(size)).reshape(-1), size

    def clear(self) -> None:
        """Every cell is 0 again."""
        self.writes[:] = 0
        self.reads[:] = 0


def spread(flag: int, size: int) -> int:
    """``flag`` in each of ``size`` bytes."""
    return int.from_bytes(bytes([flag]) * size, "little")
