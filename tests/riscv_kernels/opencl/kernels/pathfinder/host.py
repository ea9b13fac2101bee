"""the cheapest way down a wall, 4 rows a run."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "the cheapest way down a wall, 4 rows a run"
TYPES = ("int32",)
DEFAULT_SIZE = 50
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    local = min(16, 1 << (config.harts.bit_length() - 1))
    rows = 1 if local < 16 else 4
    useful = local - 2 * rows
    rng = np.random.default_rng(seed)
    wall, start = rng.integers(0, 10, (rows, size)).astype(np.int32), rng.integers(0, 10, size).astype(np.int32)
    expected = start
    for row in wall:
        padded = np.pad(expected, 1, mode="edge")
        expected = row + np.minimum(np.minimum(padded[:-2], padded[1:-1]), padded[2:])
    buffers = Buffers(config)
    places = [buffers.place("wall", wall), buffers.place("from", start), buffers.place_output("to", size)]
    return OpenCl(
        arguments=(rows, *places, size, rows, Local(4 * local), Local(4 * local)), local_size=local,
        global_size=-(-size // useful) * local, buffers=buffers.placed,
        check=lambda read: compare(read, "to", places[2], expected.astype(np.int32)),
    )
