"""Host side of nw: the alignment of two sequences."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, require_size

ABOUT = "alignment of two sequences of size elements (Needleman-Wunsch), by one group, with a barrier for each diagonal"
TYPES = ("int32",)
DEFAULT_SIZE = 12
MAX_SIZE = 512
PENALTY = 3


def reference(likeness: np.ndarray) -> np.ndarray:
    """Return the complete table of scores."""
    size = len(likeness)
    scores = start(size)
    for row in range(size):
        for column in range(size):
            left_out = max(scores[row, column + 1], scores[row + 1, column]) - PENALTY
            scores[row + 1, column + 1] = max(scores[row, column] + likeness[row, column], left_out)
    return scores


def start(size: int) -> np.ndarray:
    """Return the table with its first row and column: the cost of skipping the beginning of one sequence."""
    scores = np.zeros((size + 1, size + 1), np.int32)
    scores[0] = scores[:, 0] = -PENALTY * np.arange(size + 1, dtype=np.int32)
    return scores


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Make two sequences of ``size`` elements. Raises KernelError for a size out of range."""
    require_size("nw", size, MAX_SIZE)
    likeness = np.random.default_rng(seed).integers(-4, 11, (size, size), np.int32)
    expected = reference(likeness)
    buffers = Buffers(config)
    addresses = buffers.place("likeness", likeness), buffers.place("scores", start(size))
    return Problem(
        arguments=struct.pack("<Ii2I", size, PENALTY, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "scores", addresses[1], expected),
    )
