"""Host side of transpose."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, random_values, require_size

ABOUT = "transpose of a matrix of size rows and size + 1 columns"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 8
MAX_SIZE = 1024


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """A matrix of ``size`` x (``size`` + 1): not square, so that swapped sides show. Raises KernelError."""
    require_size("transpose", size, MAX_SIZE)
    rows, columns = size, size + 1
    source = random_values(np.random.default_rng(seed), dtype, (rows, columns))
    buffers = Buffers(config)
    addresses = buffers.place("source", source), buffers.place_output("target", (columns, rows))
    return Problem(
        arguments=struct.pack("<4I", rows, columns, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[1], source.T.copy()),
    )
