"""one layer of a neural network: 4 inputs a group, size groups."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "one layer of a neural network: 4 inputs a group, size groups"
TYPES = ("float32",)
DEFAULT_SIZE = 3
MAX_SIZE = 64


def make(dtype, size, seed, config):
    height = 2 if config.harts < 16 else 4
    rng = np.random.default_rng(seed)
    values, weights = rng.random(size * height, np.float32), rng.random((size * height, height), np.float32)
    expected = (values[:, None].astype(np.float64) * weights).reshape(size, height, height).sum(1).astype(np.float32)
    buffers = Buffers(config)
    inputs = buffers.place("input", values), buffers.place("weights", weights)
    places = [*inputs, buffers.place_output("sums", expected.shape)]
    return OpenCl(
        arguments=(*places, Local(4 * height), Local(4 * height * height), height), global_size=(height, size * height),
        local_size=(height, height), options=f"-DHEIGHT={height} -DWIDTH={height}", buffers=buffers.placed,
        check=lambda read: compare_close(read, "sums", places[2], expected),
    )
