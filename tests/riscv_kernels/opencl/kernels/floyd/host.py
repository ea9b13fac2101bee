"""one step of the shortest paths between size nodes."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "one step of the shortest paths between size nodes"
TYPES = ("int32",)
DEFAULT_SIZE = 9
MAX_SIZE = 64


PASS = 2


def make(dtype, size, seed, config):
    lengths = np.random.default_rng(seed).integers(1, 100, (size, size), np.uint32)
    np.fill_diagonal(lengths, 0)
    step = min(PASS, size - 1)
    other = lengths[:, step : step + 1] + lengths[step]
    buffers = Buffers(config)
    places = buffers.place("lengths", lengths), buffers.place("via", np.zeros_like(lengths))

    def check(read):
        return [*compare(read, "lengths", places[0], np.minimum(lengths, other)),
                *compare(read, "via", places[1], np.where(other < lengths, np.uint32(step), np.uint32(0)))]

    return OpenCl(arguments=(*places, size, step), global_size=(size, size), buffers=buffers.placed, check=check)
