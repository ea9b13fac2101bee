"""Host side of conv_columns: the columns of a separable convolution."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.conv_rows.host import MOST_STEPS, RADIUS, reference
from metronome.riscv_kernels.host import Buffers, KernelError, Problem, compare, random_values, require_size

ABOUT = "columns of a separable convolution: 17 weights, an image of size x size pixels"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 16
MAX_SIZE = 512


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """An image of ``size`` x ``size`` pixels, filled up to whole blocks with zeros.

    Raises
    ------
    KernelError
        For a size or a machine out of range.
    """
    require_size("conv_columns", size, MAX_SIZE)
    threads = config.threads
    # Two blocks share the machine; where the number of warps is odd, one warp is left over.
    rows = max(1, config.warps // 2)
    resident = config.warps // rows
    places = config.local_bytes // (4 * threads * resident)
    steps = min(MOST_STEPS, (places - 2 * RADIUS) // rows)
    if steps < 1:
        needed = 4 * threads * resident * (rows + 2 * RADIUS)
        raise KernelError(
            f"conv_columns needs {needed} bytes of local memory on this machine, it has {config.local_bytes}"
        )
    grid = -(-size // threads), -(-size // (rows * steps))
    width, height = grid[0] * threads, grid[1] * rows * steps
    rng = np.random.default_rng(seed)
    image = np.pad(
        random_values(rng, dtype, (size, size)), ((RADIUS, RADIUS + height - size), (0, width - size))
    )
    weights = random_values(rng, dtype, 2 * RADIUS + 1)
    expected = np.ascontiguousarray(reference(np.ascontiguousarray(image.T), weights).T)
    buffers = Buffers(config)
    addresses = (
        buffers.place("source", image), buffers.place("weights", weights),
        buffers.place_output("target", (height, width)),
    )
    return Problem(
        arguments=struct.pack("<9I", *grid, threads, rows, steps, width, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[2], expected),
    )
