"""sums of size elements, one a work-group."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare, random_values
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "sums of size elements, one a work-group"
TYPES = ("int32",)
DEFAULT_SIZE = 100
MAX_SIZE = 4096


GROUPS = 3


def make(dtype, size, seed, config):
    values = random_values(np.random.default_rng(seed), dtype, size)
    local = min(16, 1 << (config.harts.bit_length() - 1))
    buffers = Buffers(config)
    source, target = buffers.place("values", values), buffers.place_output("sums", GROUPS)
    owner = np.arange(size) % (GROUPS * local) // local
    expected = np.array([values[owner == group].sum(dtype=np.int32) for group in range(GROUPS)], np.int32)
    return OpenCl(
        arguments=(source, target, Local(4 * local), size), global_size=GROUPS * local, local_size=local,
        buffers=buffers.placed, check=lambda read: compare(read, "sums", target, expected),
    )
