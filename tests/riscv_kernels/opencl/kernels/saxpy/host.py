"""y = a * x + y of size elements."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare, fma32, random_values
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "y = a * x + y of size elements"
TYPES = ("float32",)
DEFAULT_SIZE = 64
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    a, x, y = (random_values(rng, dtype, count) for count in (1, size, size))
    buffers = Buffers(config)
    source, target = buffers.place("x", x), buffers.place("y", y)
    local = min(16, config.harts)
    return OpenCl(
        arguments=(a[0], source, target, size), global_size=-(-size // local) * local, local_size=local,
        buffers=buffers.placed, check=lambda read: compare(read, "y", target, fma32(a, x, y)),
    )
