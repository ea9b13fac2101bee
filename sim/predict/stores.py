"""The stores of a program, and the words that they may change before the front end fetches them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..machine.memory.store import SparseMemory
from .model.code import CodeTable

__all__ = ["Stores"]


@dataclass(frozen=True)
class Stores:
    """The stores of a program: ``addresses``, ``data`` and ``sizes`` in bytes, by store and lane.

    ``data``: the low bytes of a word; the others may hold anything.
    """

    addresses: np.ndarray
    data: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, stores: Sequence[tuple[np.ndarray, np.ndarray]], sizes: np.ndarray) -> Stores:
        """Join the addresses and data of several stores; ``sizes``: of each store."""
        if not stores:
            return cls(*(np.zeros(0, np.int64) for _ in range(3)))
        addresses = np.concatenate([each for each, _ in stores]).astype(np.int64)
        lanes = [len(each) for each, _ in stores]
        return cls(addresses, np.concatenate([each for _, each in stores]).view(np.uint32), np.repeat(sizes, lanes))

    @classmethod
    def joined(cls, parts: Sequence[Stores]) -> Stores:
        """Join the stores of several SMs."""
        columns = ("addresses", "data", "sizes")
        return cls(*(np.concatenate([getattr(each, column) for each in parts]) for column in columns))

    def unsure(
        self, pcs: np.ndarray, stored: np.ndarray, before: SparseMemory, table: CodeTable
    ) -> dict[int, int]:
        """Return the words in ``stored`` that might hold a jump that the front end would follow: a mask for each line.

        A fetch on a wrong path can reach the data after the code, whose instructions are at ``pcs``. Words fetched
        there are never issued; only a jump that the front end follows would change the next fetch. ``before``: the
        memory at the start.
        """
        lines = np.unique(pcs >> 6)
        near = np.union1d(lines, lines + 1)
        here = np.isin(self.addresses >> 6, near)
        words, data, sizes = self.addresses[here] >> 2, self.data[here], self.sizes[here]
        jumps = np.array([word for word in np.unique(data).tolist() if table.jumps(word)], np.uint32)
        # A store of less than a word can produce a word that is not among the stored data.
        may_jump = words[(sizes < 4) | np.isin(data, jumps)]
        sure = np.setdiff1d(stored[np.isin(stored >> 4, near)], may_jump)
        # Nor may the word that a store replaces be a jump.
        sure = np.array([word for word in sure.tolist() if not table.jumps(before.read_word(4 * word))], np.int64)
        return _by_line(np.setdiff1d(stored, sure))


def _by_line(words: np.ndarray) -> dict[int, int]:
    """Return a mask of the words for each line."""
    lines, places = np.unique(words >> 4, return_inverse=True)
    masks = np.zeros(len(lines), np.int64)
    np.bitwise_or.at(masks, places, 1 << (words & 15))
    return dict(zip(lines.tolist(), masks.tolist(), strict=True))
