"""Host side of row_sums."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, random_values, require_size

ABOUT = "sum of each of size rows of 32 values"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 16
#: Values of a row: two lines.
COLUMNS = 32


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """A matrix of ``size`` rows. Raises KernelError for a size out of range."""
    require_size("row_sums", size, MAX_SIZE)
    matrix = random_values(np.random.default_rng(seed), dtype, (size, COLUMNS))
    buffers = Buffers(config)
    addresses = buffers.place("matrix", matrix), buffers.place_output("sums", size)
    # From left to right, as the machine adds.
    expected = np.add.accumulate(matrix, axis=1, dtype=matrix.dtype)[:, -1].copy()
    return Problem(
        arguments=struct.pack("<4I", size, COLUMNS, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "sums", addresses[1], expected),
    )
