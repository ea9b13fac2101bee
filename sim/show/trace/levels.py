"""A long run in blocks and at successively coarser levels, so that a viewer can draw any part of it at once.

Level 0 is the cycles. A bin of level 1 is 64 cycles; a bin of each further level is 8 bins of the previous level. A bin
has, for each state, the number of its cycles in that state, and for each number its sum and maximum. A block is
65536 cycles of level 0, or 1024 bins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .tracks import Part, Tracks

__all__ = ["BINS", "BLOCK", "FIRST", "STEP", "Levels"]

BLOCK, FIRST, STEP, BINS = 65536, 64, 8, 1024


class Levels:
    """Makes the blocks of a run. ``put(level, number, content)`` receives each block as soon as it is complete.

    The content of a block of n cycles: states, one byte each, track by track; numbers, 2 bytes each; codes and lanes,
    4 bytes each, partition by partition. The content of n bins, 4 bytes each: for each track with words and each word
    the number of cycles with it; for each other track the sums, then the maxima. All are little-endian.
    """

    def __init__(self, tracks: Tracks, put: Callable[[int, int, bytes], None]) -> None:
        self._put = put
        self._words = [len(track.words) for track in tracks.states]
        self._sums = sum(self._words)
        self._numbers = len(tracks.numbers)
        self._parts: list[Part] = []
        self._held = 0
        #: By level: its bins that are not yet in a block, and the number of its next block.
        self._bins: list[np.ndarray] = []
        self._next: list[int] = []
        #: The number of cycles so far.
        self.cycles = 0

    @property
    def rows(self) -> int:
        """How many numbers a bin has."""
        return self._sums + 2 * self._numbers

    def add(self, part: Part) -> None:
        """Add the next cycles."""
        while len(part):
            piece, part = _split(part, BLOCK - self._held)
            self._parts.append(piece)
            self._held += len(piece)
            if self._held == BLOCK:
                self._emit()

    def finish(self) -> None:
        """End the run: put the remaining data into shorter blocks."""
        if self._held:
            self._emit()
        level = 0
        while level < len(self._bins):
            if self._bins[level].shape[1]:
                self._emit_bins(level, last=True)
            level += 1

    def _emit(self) -> None:
        names = ("states", "numbers", "codes", "lanes")
        states, numbers, codes, lanes = (
            np.concatenate([getattr(part, name) for part in self._parts], axis=-1) for name in names
        )
        self._put(0, self.cycles // BLOCK, b"".join(
            each.astype(each.dtype.newbyteorder("<")).tobytes() for each in (states, numbers, codes, lanes)
        ))
        self.cycles += self._held
        self._parts, self._held = [], 0
        self._add_bins(0, self._summed(states, numbers))

    def _summed(self, states: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        count = states.shape[1]
        bins = -(-count // FIRST)
        of_cycle = np.arange(count) // FIRST
        found = np.zeros((self.rows, bins), np.uint32)
        first = 0
        for row, words in zip(states, self._words, strict=True):
            counts = np.bincount(row.astype(np.intp) * bins + of_cycle, minlength=(words + 1) * bins)
            found[first : first + words] = counts.reshape(words + 1, bins)[1:]
            first += words
        starts = np.arange(bins) * FIRST
        found[self._sums : self._sums + self._numbers] = np.add.reduceat(numbers.astype(np.uint32), starts, axis=1)
        found[self._sums + self._numbers :] = np.maximum.reduceat(numbers, starts, axis=1)
        return found

    def _add_bins(self, level: int, bins: np.ndarray) -> None:
        """Add ``bins`` of level ``level`` + 1."""
        if level == len(self._bins):
            self._bins.append(np.zeros((self.rows, 0), np.uint32))
            self._next.append(0)
        self._bins[level] = np.concatenate([self._bins[level], bins], axis=1)
        while self._bins[level].shape[1] >= BINS:
            self._emit_bins(level, last=False)

    def _emit_bins(self, level: int, *, last: bool) -> None:
        bins, rest = self._bins[level][:, :BINS], self._bins[level][:, BINS:]
        self._put(level + 1, self._next[level], bins.astype("<u4").tobytes())
        self._bins[level] = rest
        self._next[level] += 1
        if last and self._next[level] == 1:
            return  # one block is the whole run: no coarser level is needed
        starts = np.arange(0, bins.shape[1], STEP)
        sums = np.add.reduceat(bins[: self._sums + self._numbers], starts, axis=1)
        greatest = np.maximum.reduceat(bins[self._sums + self._numbers :], starts, axis=1)
        self._add_bins(level + 1, np.concatenate([sums, greatest]))


def _split(part: Part, count: int) -> tuple[Part, Part]:
    pieces = []
    for cut in (slice(None, count), slice(count, None)):
        pieces.append(Part(
            states=part.states[:, cut], numbers=part.numbers[:, cut], codes=part.codes[:, cut],
            lanes=part.lanes[:, cut],
        ))
    return pieces[0], pieces[1]
