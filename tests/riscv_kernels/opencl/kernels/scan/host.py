"""prefix sums within blocks of size elements."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare, random_values
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "prefix sums within blocks of size elements"
TYPES = ("int32",)
DEFAULT_SIZE = 100
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    local = min(16, 1 << (config.harts.bit_length() - 1))
    blocks = -(-size // (2 * local))
    values = random_values(np.random.default_rng(seed), dtype, (blocks, 2 * local))
    buffers = Buffers(config)
    place = buffers.place("values", values)
    expected = np.cumsum(values, 1, dtype=np.int32) - values
    return OpenCl(
        arguments=(place, Local(8 * local)), global_size=blocks * local, local_size=local, buffers=buffers.placed,
        check=lambda read: compare(read, "values", place, expected),
    )
