"""Host side of gaussian: linear equations, brought into a triangle."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, require_size

ABOUT = "size linear equations reduced to triangular form, two launches a column"
TYPES = ("float32",)
DEFAULT_SIZE = 6
MAX_SIZE = 256


def reference(matrix: np.ndarray) -> np.ndarray:
    """The matrix when all is done, with the kernel's operations."""
    matrix = matrix.copy()
    for column in range(len(matrix) - 1):
        below = matrix[column + 1 :, column:]
        factors = below[:, 0] / matrix[column, column]
        first = np.broadcast_to(matrix[column, column:], below.shape)
        below[:] = fma32(np.broadcast_to(-factors[:, None], below.shape), first, below)
    return matrix


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """``size`` equations whose diagonal is large. Raises KernelError for a size out of range."""
    require_size("gaussian", size, MAX_SIZE)
    matrix = np.random.default_rng(seed).uniform(-1, 1, (size, size + 1)).astype(np.float32)
    matrix[np.arange(size), np.arange(size)] += np.float32(size)
    expected = reference(matrix)
    buffers = Buffers(config)
    factors, place = buffers.place_output("factors", size), buffers.place("matrix", matrix)
    return Problem(
        arguments=struct.pack("<3I", size, place, factors),
        buffers=buffers.placed,
        check=lambda read: compare(read, "matrix", place, expected),
    )
