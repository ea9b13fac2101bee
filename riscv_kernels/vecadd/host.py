"""Host side of vecadd: c = a + b."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, random_values, require_size

ABOUT = "c = a + b over size elements"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 20


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Inputs for ``size`` elements of ``dtype``. Raises KernelError for a size out of range."""
    require_size("vecadd", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    a, b = random_values(rng, dtype, size), random_values(rng, dtype, size)
    buffers = Buffers(config)
    addresses = buffers.place("a", a), buffers.place("b", b), buffers.place_output("c", size)
    return Problem(
        arguments=struct.pack("<4I", size, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "c", addresses[2], a + b),
    )
