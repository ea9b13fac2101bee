"""Host side of pathfinder: the cheapest ways down a wall."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, require_size

ABOUT = "the cheapest paths down a wall of 8 rows of size cells, by one group, a barrier a row"
TYPES = ("int32",)
DEFAULT_SIZE = 64
MAX_SIZE = 65536
#: Even, so that the result is in the other buffer.
ROWS = 8


def reference(wall: np.ndarray) -> np.ndarray:
    """The cost of the cheapest way to each cell of the last row."""
    costs = wall[0]
    for row in wall[1:]:
        around = np.pad(costs, 1, "edge")
        costs = row + np.minimum(np.minimum(around[:-2], around[2:]), costs)
    return costs


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """A wall of ``size`` columns. Raises KernelError for a size out of range."""
    require_size("pathfinder", size, MAX_SIZE)
    wall = np.random.default_rng(seed).integers(0, 10, (ROWS, size), np.int32)
    expected = reference(wall)
    buffers = Buffers(config)
    addresses = (
        buffers.place("wall", wall), buffers.place("costs", wall[0]), buffers.place_output("other", size),
    )
    return Problem(
        arguments=struct.pack("<5I", size, ROWS, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "other", addresses[2], expected),
    )
