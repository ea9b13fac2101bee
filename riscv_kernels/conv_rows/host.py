"""Host side of conv_rows: the rows of a separable convolution."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, KernelError, Problem, compare, fma32, random_values, require_size

ABOUT = "rows of a separable convolution: 17 weights, an image of size x size pixels"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 16
MAX_SIZE = 512

#: As in the kernel.
RADIUS = 8
#: Pixels of a thread, where local memory has room for them: as in the CUDA SDK.
MOST_STEPS = 8


def reference(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sums along the rows of ``image`` without RADIUS columns on either side, in the kernel's order, fused."""
    width = image.shape[1] - 2 * RADIUS
    total = np.zeros((len(image), width), image.dtype)
    for tap, weight in enumerate(weights):
        part = image[:, tap : tap + width]
        total = fma32(part, weight, total) if image.dtype == np.float32 else total + part * weight
    return total


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """An image of ``size`` x ``size`` pixels, its rows filled up to whole blocks with zeros.

    Raises
    ------
    KernelError
        For a size or a machine out of range.
    """
    require_size("conv_rows", size, MAX_SIZE)
    threads = config.threads
    halo_steps = -(-RADIUS // threads)
    # Every warp is a block of its own.
    row = 4 * threads * config.warps
    steps = min(MOST_STEPS, config.local_bytes // row - 2 * halo_steps)
    if steps < 1:
        needed = row * (1 + 2 * halo_steps)
        raise KernelError(
            f"conv_rows needs {needed} bytes of local memory on this machine, it has {config.local_bytes}"
        )
    blocks = -(-size // (steps * threads))
    width, halo = blocks * steps * threads, halo_steps * threads
    rng = np.random.default_rng(seed)
    image = np.pad(random_values(rng, dtype, (size, size)), ((0, 0), (halo, halo + width - size)))
    weights = random_values(rng, dtype, 2 * RADIUS + 1)
    expected = reference(image[:, halo - RADIUS : halo + width + RADIUS], weights)
    buffers = Buffers(config)
    addresses = (
        buffers.place("source", image), buffers.place("weights", weights), buffers.place_output("target", (size, width))
    )
    return Problem(
        arguments=struct.pack("<10I", blocks, size, threads, steps, halo_steps, width + 2 * halo, width, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[2], expected),
    )
