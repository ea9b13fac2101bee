"""c = a b of size x size elements, by tiles in local memory."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare, fma32
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "c = a b of size x size elements, by tiles in local memory"
TYPES = ("float32",)
DEFAULT_SIZE = 8
MAX_SIZE = 64


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    buffers = Buffers(config)
    places = [buffers.place("a", a), buffers.place("b", b), buffers.place_output("c", (size, size))]
    expected = np.zeros((size, size), np.float32)
    for k in range(size):
        column, row = (np.broadcast_to(each, expected.shape) for each in (a[:, k : k + 1], b[k]))
        expected = fma32(column, row, expected)
    tile = 2 if config.harts < 16 else 4
    whole = -(-size // tile) * tile
    return OpenCl(
        arguments=(*places, size), global_size=(whole, whole), local_size=(tile, tile), options=f"-DTILE={tile}",
        buffers=buffers.placed, check=lambda read: compare(read, "c", places[2], expected),
    )
