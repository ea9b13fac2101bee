"""the longest of the sequences that begin at each of size numbers."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "the longest of the sequences that begin at each of size numbers"
TYPES = ("int32",)
DEFAULT_SIZE = 30
MAX_SIZE = 4096


def length_of(n):
    steps = 0
    while n > 1 and steps < 100:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def make(dtype, size, seed, config):
    buffers = Buffers(config)
    place = buffers.place_output("lengths", size)
    expected = [max([length_of(n) for n in range(i, i + 3) if n % 5], default=0) for i in range(size)]
    return OpenCl(
        arguments=(place,), global_size=size, buffers=buffers.placed,
        check=lambda read: compare(read, "lengths", place, np.array(expected, np.uint32)),
    )
