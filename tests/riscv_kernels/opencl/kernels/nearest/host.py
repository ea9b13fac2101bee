"""the distance of size places to one of them."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "the distance of size places to one of them"
TYPES = ("float32",)
DEFAULT_SIZE = 64
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    places, origin = rng.random((size, 2), np.float32), rng.random(2, np.float32)
    buffers = Buffers(config)
    source, target = buffers.place("places", places), buffers.place_output("distances", size)
    expected = np.sqrt(((places.astype(np.float64) - origin) ** 2).sum(1)).astype(np.float32)
    return OpenCl(
        arguments=(source, target, size, origin.tobytes()), global_size=-(-size // 4) * 4, local_size=4,
        buffers=buffers.placed, check=lambda read: compare_close(read, "distances", target, expected),
    )
