"""prices of size options."""

import math

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "prices of size options"
TYPES = ("float32",)
DEFAULT_SIZE = 12
MAX_SIZE = 4096


def normal(x):
    return 0.5 * (1 + np.array([math.erf(value / math.sqrt(2)) for value in x]))


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    limits = (5, 30), (1, 100), (0.25, 10)
    price, strike, years = (rng.uniform(low, high, size).astype(np.float32) for low, high in limits)
    buffers = Buffers(config)
    outputs = [buffers.place_output(name, size) for name in ("call", "put")]
    inputs = [buffers.place(name, each) for name, each in (("price", price), ("strike", strike), ("years", years))]
    s, k, t = (each.astype(np.float64) for each in (price, strike, years))
    d1 = (np.log(s / k) + (0.02 + 0.045) * t) / (0.3 * np.sqrt(t))
    d2 = d1 - 0.3 * np.sqrt(t)
    worth = k * np.exp(-0.02 * t)
    call, put = s * normal(d1) - worth * normal(d2), worth * normal(-d2) - s * normal(-d1)

    def check(read):
        pairs = zip(("call", "put"), outputs, (call, put), strict=True)
        return [line for name, place, value in pairs
                for line in compare_close(read, name, place, value.astype(np.float32), 1e-4, 1e-4)]

    return OpenCl(arguments=(*outputs, *inputs), global_size=size, buffers=buffers.placed, check=check)
