"""the transpose of size x (size + 3) elements, by tiles."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare, random_values
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "the transpose of size x (size + 3) elements, by tiles"
TYPES = ("int32",)
DEFAULT_SIZE = 9
MAX_SIZE = 64


def make(dtype, size, seed, config):
    height, width = size, size + 3
    values = random_values(np.random.default_rng(seed), dtype, (height, width))
    buffers = Buffers(config)
    source, target = buffers.place("in", values), buffers.place_output("out", (width, height))
    tile = 2 if config.harts < 16 else 4
    return OpenCl(
        arguments=(target, source, width, height), local_size=(tile, tile), options=f"-D TILE={tile}",
        global_size=(-(-width // tile) * tile, -(-height // tile) * tile), buffers=buffers.placed,
        check=lambda read: compare(read, "out", target, values.T),
    )
