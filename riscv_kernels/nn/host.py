"""Host side of nn: distances from a place."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, require_size

ABOUT = "the distance of each place from a given one"
TYPES = ("float32",)
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 20


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """``size`` places. Raises KernelError for a size out of range."""
    require_size("nn", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    places = rng.uniform((-90, -180), (90, 180), (size, 2)).astype(np.float32)
    start = rng.uniform((-90, -180), (90, 180)).astype(np.float32)
    north, east = (places - start).T
    # Of the sum of two squares the second one is rounded.
    expected = np.sqrt(fma32(north, north, east * east))
    buffers = Buffers(config)
    addresses = buffers.place("places", places), buffers.place_output("distances", size)
    return Problem(
        arguments=struct.pack("<I2f2I", size, *start, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "distances", addresses[1], expected),
    )
