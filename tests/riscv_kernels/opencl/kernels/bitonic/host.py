"""sorts blocks in local memory."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "sorts blocks in local memory"
TYPES = ("int32",)
DEFAULT_SIZE = 64
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    local = min(16, 1 << (config.harts.bit_length() - 1))
    blocks = -(-size // (2 * local))
    keys = np.random.default_rng(seed).integers(0, 1 << 32, (blocks, 2 * local), np.uint32)
    buffers = Buffers(config)
    place = buffers.place("keys", keys)
    return OpenCl(
        arguments=(place,), global_size=blocks * local, local_size=local, options=f"-DGROUP={local}",
        buffers=buffers.placed, check=lambda read: compare(read, "keys", place, np.sort(keys, 1)),
    )
