"""Lists of accesses that a program gives to the hardware (docs/memory.md, "Order from a list")."""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import LINE_BYTES

from ..machine.access_list import ENTRY_BYTES, fields
from ..machine.memory.store import AccessError, SparseMemory
from .model.records import AHEAD

__all__ = ["Lists"]


class Lists:
    """The lists read from memory, concatenated; ``table`` is the ``lists`` of :class:`.model.records.Machine`."""

    def __init__(self, memory: SparseMemory) -> None:
        self._memory = memory
        self.rows: list[tuple[int, ...]] = []
        self._first: dict[int, int] = {}
        #: The lines that were read.
        self.lines: set[int] = set()

    def at(self, address: int) -> int:
        """Return the first row of the list at this address; rows for lines that may be read ahead follow its end."""
        begin = address // LINE_BYTES * LINE_BYTES
        if begin not in self._first:
            self._first[begin] = len(self.rows)
            place = self._row(begin)
            while any(self.rows[-1][:-1]):
                place = self._row(place)
            behind = begin + -(-(place - begin) // LINE_BYTES) * LINE_BYTES + (AHEAD - 1) * LINE_BYTES
            while place < behind:
                place = self._row(place)
        return self._first[begin]

    def _row(self, place: int) -> int:
        """Append a row for the entry at ``place`` and return the address of the next entry."""
        line = place // LINE_BYTES
        try:
            entry = fields(self._memory.read_word(place), self._memory.read_word(place + 4))
        except AccessError:
            # Memory answers this line with an error, so its contents are never used.
            entry = 0, 0, 0, 0
        self.rows.append((*entry, line))
        self.lines.add(line)
        return place + ENTRY_BYTES

    @property
    def table(self) -> np.ndarray:
        """All lists."""
        return np.array(self.rows or [(0, 0, 0, 0, 0)], np.int64)
