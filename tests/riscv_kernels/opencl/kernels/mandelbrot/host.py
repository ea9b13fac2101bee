"""how many steps each of size x size points takes."""

import numpy as np

from metronome.riscv_kernels.host import Buffers
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "how many steps each of size x size points takes"
TYPES = ("float32",)
DEFAULT_SIZE = 8
MAX_SIZE = 64


def iterate(c, limit):
    z, steps, inside = np.zeros_like(c), np.zeros(c.shape, np.int32), np.ones(c.shape, bool)
    for _ in range(limit):
        inside &= z.real**2 + z.imag**2 <= 4.0
        steps[inside] += 1
        z = np.where(inside, z * z + c, z)
    return steps


def make(dtype, size, seed, config):
    corner, extent, limit = np.array([-2.0, -1.25]), np.array([2.5, 2.5]), 20
    buffers = Buffers(config)
    place = buffers.place_output("steps", (size, size))
    x, y = (corner[axis] + extent[axis] * np.arange(size) / size for axis in (0, 1))
    expected = iterate(x[None, :] + 1j * y[:, None], limit)

    def check(read):
        got = np.frombuffer(read(place, 4 * size * size), np.int32).reshape(size, size)
        # A point at the border of the set may go the other way in float32.
        wrong = (got != expected).sum()
        return [f"{wrong} of {expected.size} points differ"] if wrong * 50 > expected.size else []

    return OpenCl(
        arguments=(place, corner, extent, limit), global_size=(size, size), buffers=buffers.placed, check=check,
    )
