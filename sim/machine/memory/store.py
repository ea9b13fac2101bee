"""The backing store: a sparse 32-bit address space, used by the golden model and the memory models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from metronome.hdl.config import LINE_BYTES, MemoryMap

__all__ = ["PAGE_BYTES", "AccessError", "SparseMemory"]

PAGE_BITS = 16
#: Memory is allocated in pages of this many bytes, at the first write.
PAGE_BYTES = 1 << PAGE_BITS
PAGE_MASK = PAGE_BYTES - 1
FULL_LINE = (1 << LINE_BYTES) - 1
_PAGES = 1 << (32 - PAGE_BITS)
_WORD_BITS = {1: 0, 2: 1, 4: 2}
_DTYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class AccessError(Exception):
    """An access outside the valid range. ``addr`` is its first byte outside memory."""

    def __init__(self, addr: int) -> None:
        super().__init__(f"address {addr:#010x} is outside memory")
        self.addr = addr


class SparseMemory:
    """Byte-addressed memory over [``memory_map.first``, ``memory_map.end``); unwritten bytes read as 0.

    All pages are in one growing pool, and a table of page numbers gives the place of each (0: the page of zeros that
    all unwritten pages share), so that a gather over many pages is still one numpy operation.
    """

    def __init__(self, memory_map: MemoryMap | None = None) -> None:
        self.memory_map = MemoryMap() if memory_map is None else memory_map
        self._first = self.memory_map.first
        self._end = self.memory_map.end
        self._table = np.zeros(_PAGES, np.uint32)
        self._slots: dict[int, int] = {}
        self._adopt(np.zeros((4, PAGE_BYTES), np.uint8))
        #: The values given to :meth:`remember`, by address; callers may read it directly.
        self.remembered: dict[int, Any] = {}
        self._remembered_first, self._remembered_end = 1 << 32, 0

    def remember(self, addr: int, value: Any) -> None:
        """Keep ``value``, which the caller derived from the word at ``addr``, in ``remembered``.

        A write to such a word, or between two of them, empties ``remembered``.
        """
        self.remembered[addr] = value
        self._remembered_first = min(self._remembered_first, addr)
        self._remembered_end = max(self._remembered_end, addr + 4)

    def _forget(self) -> None:
        self.remembered.clear()
        self._remembered_first, self._remembered_end = 1 << 32, 0

    def _adopt(self, pool: np.ndarray) -> None:
        """Make ``pool`` (pages, PAGE_BYTES) the storage, with a flat view for each access size."""
        self._pool = pool
        flat = pool.reshape(-1)
        self._flat = {size: flat.view(dtype) for size, dtype in _DTYPES.items()}
        self._bytes = self._flat[1]
        self._words = self._flat[4]

    def _slot(self, page: int) -> int:
        """Return the place of ``page`` in the pool, allocating it if necessary."""
        slot = self._slots.get(page)
        if slot is None:
            slot = len(self._slots) + 1
            if slot >= len(self._pool):
                grown = np.zeros((2 * len(self._pool), PAGE_BYTES), np.uint8)
                grown[: len(self._pool)] = self._pool
                self._adopt(grown)
            self._slots[page] = slot
            self._table[page] = slot
        return slot

    def contains(self, addr: int, n: int) -> bool:
        """Whether all of the ``n`` bytes from ``addr`` are inside the valid range."""
        return self._first <= addr and addr + n <= self._end

    def _check(self, addr: int, n: int) -> None:
        if not self.contains(addr, n):
            raise AccessError(max(addr, self._end) if addr >= self._first else addr)

    def read(self, addr: int, n: int) -> bytes:
        """Read ``n`` bytes from ``addr``, of any alignment and length.

        Raises
        ------
        AccessError
            If a byte is outside the valid range.
        """
        self._check(addr, n)
        parts = []
        while n > 0:
            offset = addr & PAGE_MASK
            count = min(n, PAGE_BYTES - offset)
            slot = self._slots.get(addr >> PAGE_BITS, 0)
            parts.append(self._pool[slot, offset : offset + count].tobytes())
            addr += count
            n -= count
        return b"".join(parts)

    def write(self, addr: int, data: bytes) -> None:
        """Write ``data`` (bytes-like, any alignment and length) from ``addr``; nothing is written on an error.

        Raises
        ------
        AccessError
            If a byte is outside the valid range.
        """
        values = np.frombuffer(data, np.uint8)
        self._check(addr, len(values))
        if addr < self._remembered_end and addr + len(values) > self._remembered_first:
            self._forget()
        done = 0
        while done < len(values):
            offset = (addr + done) & PAGE_MASK
            count = min(len(values) - done, PAGE_BYTES - offset)
            slot = self._slot((addr + done) >> PAGE_BITS)
            self._pool[slot, offset : offset + count] = values[done : done + count]
            done += count

    def read_word(self, addr: int) -> int:
        """Read the 32-bit word at ``addr`` (a multiple of 4) as an int: the fast path of an instruction fetch."""
        if not self._first <= addr <= self._end - 4:
            raise AccessError(addr)
        return self._words.item(self._slots.get(addr >> PAGE_BITS, 0) << (PAGE_BITS - 2) | (addr & PAGE_MASK) >> 2)

    def read_number(self, addr: int, size: int) -> int:
        """Read the ``size`` (1, 2, 4) bytes at ``addr``, a multiple of ``size``, as an unsigned number.

        Raises
        ------
        AccessError
            If they are outside the valid range.
        """
        if not self._first <= addr <= self._end - size:
            raise AccessError(addr)
        place = self._slots.get(addr >> PAGE_BITS, 0) << PAGE_BITS | addr & PAGE_MASK
        return self._flat[size].item(place >> _WORD_BITS[size])

    def read_line(self, addr: int) -> bytes:
        """Read the line at ``addr``, a multiple of the line size.

        Raises
        ------
        AccessError
            If the line is not wholly inside the valid range.
        """
        if addr % LINE_BYTES:
            raise ValueError(f"addr must be a multiple of {LINE_BYTES}, not {addr:#x}")
        self._check(addr, LINE_BYTES)
        start = self._slots.get(addr >> PAGE_BITS, 0) << PAGE_BITS | addr & PAGE_MASK
        return self._bytes[start : start + LINE_BYTES].tobytes()

    def write_line(self, addr: int, data: bytes, byte_mask: int) -> None:
        """Write the bytes of ``data`` whose bits are set in ``byte_mask`` to the line at ``addr``.

        Raises
        ------
        AccessError
            If the line is not wholly inside the valid range.
        """
        if addr % LINE_BYTES:
            raise ValueError(f"addr must be a multiple of {LINE_BYTES}, not {addr:#x}")
        if len(data) != LINE_BYTES:
            raise ValueError(f"data must be {LINE_BYTES} bytes, not {len(data)}")
        self._check(addr, LINE_BYTES)
        if byte_mask == 0:
            return
        if addr < self._remembered_end and addr + LINE_BYTES > self._remembered_first:
            self._forget()
        start = self._slot(addr >> PAGE_BITS) << PAGE_BITS | addr & PAGE_MASK
        line = self._bytes[start : start + LINE_BYTES]
        values = np.frombuffer(data, np.uint8)
        if byte_mask == FULL_LINE:
            line[:] = values
        else:
            mask = np.frombuffer(byte_mask.to_bytes(LINE_BYTES // 8, "little"), np.uint8)
            np.copyto(line, values, where=np.unpackbits(mask, bitorder="little").view(bool))

    def _bounds(self, addrs: np.ndarray, size: int, bounds: tuple[int, int] | None) -> tuple[int, int]:
        """Return the lowest and highest of ``addrs``, after checking that they are inside memory."""
        low, high = (int(addrs.min()), int(addrs.max())) if bounds is None else bounds
        if low < self._first or high > self._end - size:
            outside = (addrs < self._first) | (addrs > self._end - size)
            raise AccessError(int(addrs[np.argmax(outside)]))
        return low, high

    def gather(self, addrs: np.ndarray, size: int, bounds: tuple[int, int] | None = None) -> np.ndarray:
        """Read ``size`` (1, 2, 4) bytes at each address, zero-extended to uint32.

        Parameters
        ----------
        addrs
            uint32 of shape (n,), each a multiple of ``size`` (checked by the caller).
        bounds
            The lowest and the highest of ``addrs``, if the caller already knows them.

        Raises
        ------
        AccessError
            If an address is outside memory; the error has the first one in order.
        """
        if not len(addrs):
            return np.zeros(0, np.uint32)
        low, high = self._bounds(addrs, size, bounds)
        shift = _WORD_BITS[size]
        if low >> PAGE_BITS == high >> PAGE_BITS:
            start = self._slots.get(low >> PAGE_BITS, 0) << PAGE_BITS
            page = self._flat[size][start >> shift : (start + PAGE_BYTES) >> shift]
            values = page.take((addrs & PAGE_MASK) >> shift)
        else:
            slots = self._table.take(addrs >> PAGE_BITS).astype(np.int64)
            values = self._flat[size].take((slots << PAGE_BITS | addrs & PAGE_MASK) >> shift)
        return values if size == 4 else values.astype(np.uint32)

    def scatter(self, addrs: np.ndarray, data: np.ndarray, size: int, bounds: tuple[int, int] | None = None) -> None:
        """Write the low ``size`` bytes of each element of ``data`` in order: the last of equal addresses wins.

        Parameters and errors as in :meth:`gather`; ``data`` is uint32 of the same shape. Nothing is written on an
        error.
        """
        if not len(addrs):
            return
        low, high = self._bounds(addrs, size, bounds)
        if low < self._remembered_end and high + size > self._remembered_first:
            self._forget()
        shift = _WORD_BITS[size]
        if low >> PAGE_BITS == high >> PAGE_BITS:
            start = self._slot(low >> PAGE_BITS) << PAGE_BITS
            page = self._flat[size][start >> shift : (start + PAGE_BYTES) >> shift]
            # numpy assigns a repeated one-dimensional index in order; test_store checks this.
            page[(addrs & PAGE_MASK) >> shift] = data.astype(_DTYPES[size], copy=False)
        else:
            for page_number in np.unique(addrs >> PAGE_BITS).tolist():
                self._slot(page_number)
            slots = self._table.take(addrs >> PAGE_BITS).astype(np.int64)
            index = (slots << PAGE_BITS | addrs & PAGE_MASK) >> shift
            self._flat[size][index] = data.astype(_DTYPES[size], copy=False)

    def copy(self) -> SparseMemory:
        """Return an independent memory with the same contents."""
        other = SparseMemory(self.memory_map)
        other._table = self._table.copy()
        other._slots = dict(self._slots)
        other._adopt(self._pool.copy())
        return other

    def pages(self) -> list[int]:
        """Return the addresses of the pages written so far, ascending."""
        return sorted(page << PAGE_BITS for page in self._slots)

    def differences(self, other: SparseMemory, limit: int = 16) -> Iterator[tuple[int, int, int]]:
        """Yield the first ``limit`` bytes that differ, as (address, mine, theirs), addresses ascending."""
        for page in sorted(self._slots.keys() | other._slots.keys()):
            mine = self._pool[self._slots.get(page, 0)]
            theirs = other._pool[other._slots.get(page, 0)]
            if np.array_equal(mine, theirs):
                continue
            for offset in np.flatnonzero(mine != theirs).tolist():
                if limit <= 0:
                    return
                limit -= 1
                yield page << PAGE_BITS | offset, int(mine[offset]), int(theirs[offset])

    def equal(self, other: SparseMemory) -> bool:
        """Whether every byte is the same; an unwritten byte equals a written 0."""
        return next(self.differences(other, 1), None) is None
