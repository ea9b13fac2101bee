"""Host side of srad: a step that takes speckles out of an image."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare_close, require_size

ABOUT = "a step against speckles in an image of size x size pixels, by one group, a barrier between its halves"
TYPES = ("float32",)
DEFAULT_SIZE = 8
MAX_SIZE = 512
#: speckle and rate of kernel.c.
SPECKLE, RATE = 0.05, 0.5


def reference(image: np.ndarray) -> np.ndarray:
    """The image after the step, in float64."""
    image = image.astype(np.float64)
    around = np.pad(image, 1, "edge")
    north, south = around[:-2, 1:-1] - image, around[2:, 1:-1] - image
    west, east = around[1:-1, :-2] - image, around[1:-1, 2:] - image
    gradient = (north**2 + south**2 + west**2 + east**2) / image**2
    laplace = (north + south + west + east) / image
    variation = (gradient / 2 - laplace**2 / 16) / (1 + laplace / 4) ** 2
    own = np.clip(1 / (1 + (variation - SPECKLE) / (SPECKLE * (1 + SPECKLE))), 0, 1)
    beyond = np.pad(own, 1, "edge")
    flow = own * north + beyond[2:, 1:-1] * south + own * west + beyond[1:-1, 2:] * east
    return (image + RATE / 4 * flow).astype(np.float32)


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
        check=lambda read: compare_close(read, "result", addresses[2], expected),
    )
