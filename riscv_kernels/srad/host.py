"""Host side of srad: a step that takes speckles out of an image."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, require_size

ABOUT = "a step of speckle reduction on an image of size x size pixels, by one group, a barrier between its halves"
TYPES = ("float32",)
DEFAULT_SIZE = 8
MAX_SIZE = 512
#: speckle and rate of kernel.c.
SPECKLE, RATE = np.float32(0.05), np.float32(0.5)


def _sum(*products: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """A sum of products: the second one is rounded, the first one fused with it, and so on with the others."""
    first, second, *others = products
    total = second[0] * second[1]
    for one, other in (first, *others):
        total = fma32(one, other, total)
    return total


def reference(image: np.ndarray) -> np.ndarray:
    """The image after the step, with the kernel's order of operations."""
    one, quarter = np.float32(1), np.full(image.shape, 0.25, np.float32)
    around = np.pad(image, 1, "edge")
    north, south = around[:-2, 1:-1] - image, around[2:, 1:-1] - image
    west, east = around[1:-1, :-2] - image, around[1:-1, 2:] - image
    gradient = _sum((north, north), (south, south), (west, west), (east, east)) / (image * image)
    laplace = (north + south + west + east) / image
    root = fma32(quarter, laplace, np.ones_like(image))
    # A half and a sixteenth of something are exact.
    variation = (gradient / np.float32(2) - laplace * laplace / np.float32(16)) / (root * root)
    excess = (variation - SPECKLE) / (SPECKLE * (one + SPECKLE))
    own = np.clip(one / (one + excess), np.float32(0), one)
    beyond = np.pad(own, 1, "edge")
    flow = _sum((own, north), (beyond[2:, 1:-1], south), (own, west), (beyond[1:-1, 2:], east))
    return fma32(quarter * RATE, flow, image)


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """An image of ``size`` x ``size`` pixels. Raises KernelError for a size out of range."""
    require_size("srad", size, MAX_SIZE)
    image = np.random.default_rng(seed).uniform(1, 1.6, (size, size)).astype(np.float32)
    expected = reference(image)
    buffers = Buffers(config)
    addresses = (
        buffers.place("image", image), buffers.place_output("coefficients", (size, size)),
        buffers.place_output("result", (size, size)),
    )
    return Problem(
        arguments=struct.pack("<I2f3I", size, SPECKLE, RATE, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "result", addresses[2], expected),
    )
