"""Host side of conv3: convolution of an image with 3 x 3 weights."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, random_values, require_size

ABOUT = "3 x 3 convolution of an image of size x size pixels, zeros around it"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 8
MAX_SIZE = 1024


def reference(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The convolution of ``image`` without its border, with the kernel's order of operations: row by row, fused."""
    side = len(image) - 2
    total = np.zeros((side, side), image.dtype)
    for (y, x), weight in np.ndenumerate(weights):
        part = image[y : y + side, x : x + side]
        total = fma32(part, weight, total) if image.dtype == np.float32 else total + part * weight
    return total


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """An image of ``size`` x ``size`` pixels. Raises KernelError for a size out of range."""
    require_size("conv3", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    image = np.pad(random_values(rng, dtype, (size, size)), 1)
    weights = random_values(rng, dtype, (3, 3))
    expected = reference(image, weights)
    buffers = Buffers(config)
    addresses = (
        buffers.place("image", image), buffers.place("weights", weights), buffers.place_output("target", (size, size))
    )
    return Problem(
        arguments=struct.pack("<4I", size, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[2], expected),
    )
