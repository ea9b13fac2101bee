"""the dot product of two vectors of size elements, in parts."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "the dot product of two vectors of size elements, in parts"
TYPES = ("float32",)
DEFAULT_SIZE = 100
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    groups = -(-size // 16)
    rng = np.random.default_rng(seed)
    a, b = (rng.random((groups, 16), np.float32) for _ in range(2))
    buffers = Buffers(config)
    places = [buffers.place("a", a), buffers.place("b", b), buffers.place_output("parts", groups)]
    expected = (a.astype(np.float64) * b).sum(1).astype(np.float32)
    return OpenCl(
        arguments=places, global_size=4 * groups, local_size=4, buffers=buffers.placed,
        check=lambda read: compare_close(read, "parts", places[2], expected),
    )
