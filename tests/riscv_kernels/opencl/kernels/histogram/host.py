"""how often each of 8 values occurs, counted without atomic operations."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "how often each of 8 values occurs, counted without atomic operations"
TYPES = ("int32",)
DEFAULT_SIZE = 70
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    values = np.random.default_rng(seed).integers(0, 256, -(-size // 4) * 4, np.uint8)
    buffers = Buffers(config)
    source, target = buffers.place("values", values.view(np.uint32)), buffers.place_output("counts", 8)
    expected = np.bincount(values[:size] % 8, minlength=8).astype(np.uint32)
    local = min(8, config.harts)
    return OpenCl(
        arguments=[source, target, size], global_size=local, local_size=local, options=f"-DGROUP={local}",
        buffers=buffers.placed, check=lambda read: compare(read, "counts", target, expected),
    )
