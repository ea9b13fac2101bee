"""Host side of sfilter: a filter of nine weights over an image."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, random_values, require_size

ABOUT = "filter of nine weights over an image of size x size pixels, with its border replicated"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 8
MAX_SIZE = 1024


def reference(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The filtered image with the kernel's order of operations.

    Of the sum of nine products the second one is rounded, the first one fused with it, and so on with the others.
    """
    side = len(image)
    around = np.pad(image, 1, "edge")
    first, second, *others = (
        (around[place // 3 : place // 3 + side, place % 3 : place % 3 + side], weight)
        for place, weight in enumerate(weights)
    )
    total = second[0] * second[1]
    for part, weight in (first, *others):
        total = fma32(part, weight, total) if image.dtype == np.float32 else total + part * weight
    return total


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """An image of ``size`` x ``size`` pixels. Raises KernelError for a size out of range."""
    require_size("sfilter", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    image, weights = random_values(rng, dtype, (size, size)), random_values(rng, dtype, 9)
    expected = reference(image, weights)
    buffers = Buffers(config)
    addresses = buffers.place("source", image), buffers.place_output("target", (size, size))
    return Problem(
        arguments=struct.pack("<3I", size, *addresses) + weights.tobytes(),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[1], expected),
    )
