"""Host side of sgemm: C = A * B."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, random_values, require_size

ABOUT = "C = A * B of size x size matrices"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 8
MAX_SIZE = 512


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product with the kernel's order of operations: k ascending from 0, for float32 fused."""
    if a.dtype == np.int32:
        return a @ b
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total = fma32(a[:, k, np.newaxis], b[np.newaxis, k, :], total)
    return total


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Inputs for ``size`` x ``size`` matrices of ``dtype``. Raises KernelError for a size out of range."""
    require_size("sgemm", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    a, b = random_values(rng, dtype, (size, size)), random_values(rng, dtype, (size, size))
    expected = reference(a, b)
    buffers = Buffers(config)
    addresses = buffers.place("a", a), buffers.place("b", b), buffers.place_output("c", (size, size))
    return Problem(
        arguments=struct.pack("<4I", size, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "c", addresses[2], expected),
    )
