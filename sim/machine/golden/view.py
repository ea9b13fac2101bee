"""The part of the machine that one operation works on: one warp, or all of them with a group selected."""

from __future__ import annotations

import numpy as np

__all__ = ["DISCARD", "View"]

#: The register that takes writes to x0.
DISCARD = 64


class View:
    """Registers and thread masks of ``n`` warps, seen as (n, threads) arrays.

    A view of one warp has n = 1. The view of a group has n = all warps, with an all-false mask in the rows outside the
    group: computing a few unused rows is cheaper than selecting rows. Every operation is written once against this
    class, and serves both ``step`` and ``run``.

    ``r`` and ``s`` list the 64 registers (and DISCARD) as uint32 and int32 views of the same storage; ``flat`` as one
    row of n * threads. ``rows`` selects this view's warps in a per-warp array. ``full``: every lane of every row is
    active. ``lanes`` counts the active ones.
    """

    def __init__(self, registers: np.ndarray, first_warp: int, warps: int) -> None:
        part = registers[:, first_warp : first_warp + warps]
        self.r = list(part)
        self.s = list(part.view(np.int32))
        self.flat = [register.reshape(-1) for register in self.r]
        self.rows = slice(first_warp, first_warp + warps)
        self.first_row = first_warp
        self.single = warps == 1
        shape = self.r[0].shape
        self.scratch = np.zeros(shape, np.uint32)
        self.scratch_signed = self.scratch.view(np.int32)
        self.row_numbers = np.arange(warps)
        self.warps: list[int] = []
        self.bits = 0
        self.mask = np.zeros(shape, bool)
        self.lanes = 0
        self.full = False
        self.epoch = -1
        self._index: np.ndarray | None = None

    def select(self, warps: list[int], bits: int, mask: np.ndarray, lanes: int) -> None:
        """Make ``warps`` (``bits`` as a bit mask) the group, with ``mask`` (n, threads) of ``lanes`` active lanes."""
        self.warps = warps
        self.bits = bits
        self.mask = mask
        self.lanes = lanes
        self.full = lanes == mask.size
        self._index = None

    @property
    def index(self) -> np.ndarray:
        """Positions of the active lanes in ``flat``, ascending: by warp, then by lane."""
        if self._index is None:
            self._index = np.flatnonzero(self.mask)
        return self._index

    def warp_of(self, position: int) -> int:
        """Return the warp of the active lane at ``position`` in ``index``."""
        return self.first_row + int(self.index[position]) // self.mask.shape[1]

    def first_warp(self, rows: np.ndarray) -> int:
        """Return the lowest warp whose row is true in ``rows`` (n,)."""
        return self.first_row + int(np.argmax(rows))

    def active(self, values: np.ndarray) -> np.ndarray:
        """Return the active lanes of ``values`` (n, threads) in the order of ``index``, shape (lanes,)."""
        return values.reshape(-1) if self.full else values.reshape(-1).take(self.index)

    def put(self, rd: int, values: np.ndarray | int) -> None:
        """Write ``values`` (anything that broadcasts to (n, threads)) to the active lanes of ``rd``."""
        if self.full:
            if isinstance(values, int):
                self.r[rd].fill(values)
            else:
                self.r[rd][...] = values
        else:
            np.copyto(self.r[rd], values, where=self.mask, casting="unsafe")

    def put_active(self, rd: int, values: np.ndarray) -> None:
        """Write ``values`` (lanes,), in the order of ``index``, to the active lanes of ``rd``."""
        if self.full:
            self.flat[rd][:] = values
        else:
            self.flat[rd][self.index] = values

    def warp_bits(self, rows: np.ndarray) -> int:
        """Convert rows (n,) of booleans to a bit mask of warps."""
        return int.from_bytes(np.packbits(rows, bitorder="little").tobytes(), "little") << self.first_row
