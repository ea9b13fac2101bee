"""two steps of heat that spreads over size x size cells."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "two steps of heat that spreads over size x size cells"
TYPES = ("float32",)
DEFAULT_SIZE = 9
MAX_SIZE = 64


def make(dtype, size, seed, config):
    block, steps = (4, 1) if config.harts < 64 else (8, 2)
    if config.harts < 16:
        block, steps = 2, 0
    groups = -(-size // (block - 2 * steps))
    rng = np.random.default_rng(seed)
    power, start = (rng.random((size, size), np.float32) for _ in range(2))
    expected = start.astype(np.float64)
    for _ in range(steps):
        edge = np.pad(expected, 1, mode="edge")
        around = edge[2:, 1:-1] + edge[:-2, 1:-1] + edge[1:-1, 2:] + edge[1:-1, :-2]
        expected = expected + 0.125 * (power + around - 4 * expected)
    buffers = Buffers(config)
    places = buffers.place("power", power), buffers.place("from", start), buffers.place("to", start)
    return OpenCl(
        arguments=(steps, *places, size, 0.125), global_size=(groups * block,) * 2, local_size=(block, block),
        options=f"-DBLOCK={block}", buffers=buffers.placed,
        check=lambda read: compare_close(read, "to", places[2], expected.astype(np.float32)),
    )
