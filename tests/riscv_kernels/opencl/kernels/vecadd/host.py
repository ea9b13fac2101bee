"""c = a + b of size elements."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare, random_values
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "c = a + b of size elements"
TYPES = ("int32",)
DEFAULT_SIZE = 64
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    a, b = (random_values(rng, dtype, size) for _ in range(2))
    buffers = Buffers(config)
    arguments = {"a": buffers.place("a", a), "b": buffers.place("b", b), "c": buffers.place_output("c", size)}
    return OpenCl(
        arguments=arguments, global_size=size, buffers=buffers.placed,
        check=lambda read: compare(read, "c", arguments["c"], a + b),
    )
