"""the nearest of 5 centres for each of size points."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "the nearest of 5 centres for each of size points"
TYPES = ("float32",)
DEFAULT_SIZE = 30
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    points, centres = rng.random((3, size), np.float32), rng.random((5, 3), np.float32)
    buffers = Buffers(config)
    places = [buffers.place("points", points), buffers.place("centres", centres), buffers.place_output("nearest", size)]
    distance = ((points.T[:, None].astype(np.float64) - centres) ** 2).sum(2)
    local = min(4, config.harts)
    return OpenCl(
        arguments=(*places, size, 5, 3), global_size=-(-size // local) * local, local_size=local,
        buffers=buffers.placed,
        check=lambda read: compare(read, "nearest", places[2], distance.argmin(1).astype(np.int32)),
    )
