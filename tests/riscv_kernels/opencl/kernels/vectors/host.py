"""Vectors, against numpy in float64."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "vectors of size x 4 floats"
TYPES = ("float32",)
DEFAULT_SIZE = 16
MAX_SIZE = 256


def row(i, x):
    y = x[::-1] + np.arange(1, 5)
    left, right = x[:3], x[1:]
    result = np.empty(16)
    result[0:4] = np.maximum(x, y) + np.minimum(x, 0.25) + np.clip(x, 0, 1)
    result[4:7] = 2 * np.cross(left, right)
    result[7] = 2 * (x @ y + np.linalg.norm(left) + np.linalg.norm(left - right))
    result[8:12] = np.where(x > y, y, x) + np.rint(np.float32(10) * x.astype(np.float32)) + np.sqrt(np.abs(x))
    result[12:16] = (x + y) / 2 + x / np.linalg.norm(x) + np.floor(x) + (x >= 0) + np.exp(x) + x * x
    result[0] += int((x > 2).any()) + int((x < 3).all()) + (x < y) @ (1, 2, 4, 8)
    result[1] += y[i % 4] + x[1]
    return result


def make(dtype, size, seed, config):
    values = np.random.default_rng(seed).uniform(-2, 2.5, (size, 4)).astype(np.float32)
    expected = np.array([row(i, x) for i, x in enumerate(values.astype(np.float64))], np.float32)
    buffers = Buffers(config)
    places = [buffers.place("a", values), buffers.place_output("out", expected.shape)]
    return OpenCl(
        arguments=places, global_size=size, buffers=buffers.placed,
        check=lambda read: compare_close(read, "out", places[1], expected, 1e-5, 1e-5),
    )
