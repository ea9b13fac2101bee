"""The lists of accesses that a program names to the hardware (docs/memory.md, "Order from a list")."""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import LINE_BYTES
from metronome.sim.memory.store import SparseMemory
from metronome.sim.predict.records import AHEAD, LIST_WORDS

__all__ = ["Lists"]

#: Bits of the second word of an entry.
_WARP_BITS, _COUNT_BITS = 6, 6
_ENTRY = LINE_BYTES // LIST_WORDS


class Lists:
    """Lists as they lie in memory, and what is read ahead. ``table``: see :class:`sim.predict.records.Machine`."""

    def __init__(self, memory: SparseMemory) -> None:
        self._memory = memory
        self.rows: list[tuple[int, int, int, int, int]] = [(0, 0, 0, 0, 0)] * LIST_WORDS
        self._first: dict[int, int] = {}
        #: The lines that were read.
        self.lines: set[int] = set()

    def at(self, address: int) -> int:
        """The row in which the list at this address begins."""
        line = address // LINE_BYTES
        if line not in self._first:
            first = self._first[line] = len(self.rows)
            while all(any(row[:4]) for row in self.rows[-LIST_WORDS:]) or len(self.rows) == first:
                self._read(line)
                line += 1
            for ahead in range(AHEAD):
                self._read(line + ahead)
        return self._first[address // LINE_BYTES]

    def _read(self, line: int) -> None:
        self.lines.add(line)
        for address in range(line * LINE_BYTES, (line + 1) * LINE_BYTES, _ENTRY):
            word, more = self._memory.read_word(address), self._memory.read_word(address + 4)
            warp, lines = more & (1 << _WARP_BITS) - 1, more >> _WARP_BITS & (1 << _COUNT_BITS) - 1
            self.rows.append((word & ~3, word & 1, warp, lines, line))

    @property
    def table(self) -> np.ndarray:
        """All lists."""
        return np.array(self.rows, np.int64)
