"""Host side of saxpy: y = alpha * x + y."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, random_values, require_size, value_word

ABOUT = "y = alpha * x + y over size elements"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 20


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Inputs for ``size`` elements of ``dtype``. Raises KernelError for a size out of range."""
    require_size("saxpy", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    alpha = random_values(rng, dtype, 1)
    x, y = random_values(rng, dtype, size), random_values(rng, dtype, size)
    expected = fma32(alpha, x, y) if dtype == "float32" else alpha * x + y
    buffers = Buffers(config)
    addresses = buffers.place("x", x), buffers.place("y", y)
    return Problem(
        arguments=struct.pack("<4I", size, value_word(alpha[0], dtype), *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "y", addresses[1], expected),
    )
