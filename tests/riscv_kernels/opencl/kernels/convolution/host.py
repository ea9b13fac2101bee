"""a 3 x 3 filter over size x size elements."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "a 3 x 3 filter over size x size elements"
TYPES = ("float32",)
DEFAULT_SIZE = 9
MAX_SIZE = 64


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    image, weights = rng.random((size, size), np.float32), rng.random((3, 3), np.float32)
    buffers = Buffers(config)
    inputs = buffers.place("image", image), buffers.place("filter", weights)
    places = [*inputs, buffers.place_output("result", image.shape)]
    padded = np.pad(image, 1, mode="edge").astype(np.float64)
    expected = sum(weights[y, x] * padded[y : y + size, x : x + size] for y in range(3) for x in range(3))
    return OpenCl(
        arguments=(*places, size), global_size=(size, size), buffers=buffers.placed,
        check=lambda read: compare_close(read, "result", places[2], expected.astype(np.float32)),
    )
