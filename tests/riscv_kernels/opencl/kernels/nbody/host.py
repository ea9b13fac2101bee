"""one step of size bodies that attract each other."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "one step of size bodies that attract each other"
TYPES = ("float32",)
DEFAULT_SIZE = 16
MAX_SIZE = 256


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    local = min(8, config.harts)
    count = -(-size // local) * local
    bodies, speeds = (rng.random((count, 4), np.float32) for _ in range(2))
    buffers = Buffers(config)
    places = buffers.place("bodies", bodies), buffers.place("speeds", speeds)
    away = bodies[None, :, :3].astype(np.float64) - bodies[:, None, :3]
    inverse = ((away**2).sum(2) + 0.01) ** -1.5
    force = (bodies[:, 3] * inverse)[:, :, None] * away
    expected = speeds.copy()
    expected[:, :3] += (0.5 * force.sum(1)).astype(np.float32)
    return OpenCl(
        arguments=(*places, count, 0.5, 0.01, Local(16 * local)), global_size=count, local_size=local,
        buffers=buffers.placed, check=lambda read: compare_close(read, "speeds", places[1], expected, 1e-4, 1e-4),
    )
