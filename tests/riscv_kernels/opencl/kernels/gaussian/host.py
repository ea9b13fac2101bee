"""one step of Gaussian elimination of size x size elements."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "one step of Gaussian elimination of size x size elements"
TYPES = ("float32",)
DEFAULT_SIZE = 9
MAX_SIZE = 64


STEP = 1


def make(dtype, size, seed, config, kernel="eliminate"):
    rng = np.random.default_rng(seed)
    a = (rng.random((size, size), np.float32) + size * np.eye(size)).astype(np.float32)
    b = rng.random(size, np.float32)
    m = np.zeros((size, size), np.float32)
    factors = m.copy()
    factors[STEP + 1 :, STEP] = a[STEP + 1 :, STEP] / a[STEP, STEP]
    buffers = Buffers(config)
    place = {name: buffers.place(name, value) for name, value in
             (("m", m if kernel == "multipliers" else factors), ("a", a), ("b", b))}
    below = a.astype(np.float64)
    right = b.astype(np.float64)
    below[STEP + 1 :, STEP:] -= factors[STEP + 1 :, STEP : STEP + 1] * below[STEP, STEP:]
    right[STEP + 1 :] -= factors[STEP + 1 :, STEP] * right[STEP]

    def check(read):
        if kernel == "multipliers":
            return compare_close(read, "m", place["m"], factors)
        return [*compare_close(read, "a", place["a"], below.astype(np.float32), 1e-5, 1e-5),
                *compare_close(read, "b", place["b"], right.astype(np.float32), 1e-5, 1e-5)]

    buffered = {"multipliers": (place["a"], place["m"])}.get(kernel, (place["m"], place["a"], place["b"]))
    return OpenCl(
        kernel=kernel, arguments=(*buffered, size, STEP), global_size=size if kernel == "multipliers" else (size, size),
        buffers=buffers.placed, check=check,
    )
