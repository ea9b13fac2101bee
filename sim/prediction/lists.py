"""The lists of accesses that a program names to the hardware (docs/memory.md, "Order from a list")."""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import LINE_BYTES
from metronome.sim.memory.store import SparseMemory

__all__ = ["Lists"]

#: Bytes of an entry, and the bits of the second word of one.
_ENTRY, _WARP_BITS, _COUNT_BITS = 8, 6, 6


class Lists:
    """Lists as they lie in memory, one behind the other: ``table`` is that of :class:`sim.predict.records.Machine`."""

    def __init__(self, memory: SparseMemory) -> None:
        self._memory = memory
        self.rows: list[tuple[int, int, int, int, int]] = []
        self._first: dict[int, int] = {}
        #: The lines that were read.
        self.lines: set[int] = set()

    def at(self, address: int) -> int:
        """The row in which the list at this address begins."""
        base = address // LINE_BYTES * LINE_BYTES
        if base not in self._first:
            self._first[base] = len(self.rows)
            while True:
                word, more = self._memory.read_word(base), self._memory.read_word(base + 4)
                warp, lines = more & (1 << _WARP_BITS) - 1, more >> _WARP_BITS & (1 << _COUNT_BITS) - 1
                self.rows.append((word & ~3, word & 1, warp, lines, base // LINE_BYTES))
                self.lines.add(base // LINE_BYTES)
                base += _ENTRY
                if not any(self.rows[-1][:4]):
                    break
        return self._first[address // LINE_BYTES * LINE_BYTES]

    @property
    def table(self) -> np.ndarray:
        """All lists."""
        return np.array(self.rows or [(0, 0, 0, 0, 0)], np.int64)
