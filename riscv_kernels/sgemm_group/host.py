"""Host side of sgemm_group: C = A * B by one group."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, random_values, require_size
from metronome.riscv_kernels.sgemm.host import reference

ABOUT = "C = A * B by one group, C of size x size, inner dimension 2"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 8
MAX_SIZE = 512
#: For table I of Crouzet 2024: one element per thread on PAPER.
PAPER_SIZE = 32
#: Columns of A and rows of B: this few for the table's count of instructions.
INNER = 2


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Inputs for a product of ``size`` x ``size``. Raises KernelError for a size out of range."""
    require_size("sgemm_group", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    a, b = random_values(rng, dtype, (size, INNER)), random_values(rng, dtype, (INNER, size))
    expected = reference(a, b)
    buffers = Buffers(config)
    addresses = buffers.place("a", a), buffers.place("b", b), buffers.place_output("c", (size, size))
    return Problem(
        arguments=struct.pack("<5I", size, INNER, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "c", addresses[2], expected),
    )
