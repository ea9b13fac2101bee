"""y = a x of size x 10 elements, a row a work-group."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "y = a x of size x 10 elements, a row a work-group"
TYPES = ("float32",)
DEFAULT_SIZE = 12
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    a, x = rng.random((size, 10), np.float32), rng.random(10, np.float32)
    buffers = Buffers(config)
    places = [buffers.place("a", a), buffers.place("x", x), buffers.place_output("y", size)]
    local = min(8, 1 << (config.harts.bit_length() - 1))
    return OpenCl(
        arguments=(places[0], places[1], 10, places[2], Local(4 * local)), global_size=2 * local, local_size=local,
        options=f"-DROWS={size}", buffers=buffers.placed,
        check=lambda read: compare_close(read, "y", places[2], (a.astype(np.float64) @ x).astype(np.float32)),
    )
