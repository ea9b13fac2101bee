"""Host side of psort: sorting by rank."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, random_values, require_size

ABOUT = "sort size elements by counting, for each, the smaller ones"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 16


def unsorted(dtype: str, size: int, seed: int) -> np.ndarray:
    """``size`` random elements, one in four of them a repeat."""
    rng = np.random.default_rng(seed)
    source = random_values(rng, dtype, size)
    repeats = rng.integers(0, size, size // 4)
    source[rng.integers(0, size, size // 4)] = source[repeats]
    return source


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Inputs of ``size`` elements. Raises KernelError for a size out of range."""
    require_size("psort", size, MAX_SIZE)
    source = unsorted(dtype, size, seed)
    buffers = Buffers(config)
    addresses = buffers.place("source", source), buffers.place_output("target", size)
    return Problem(
        arguments=struct.pack("<3I", size, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[1], np.sort(source, kind="stable")),
    )
