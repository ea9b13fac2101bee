"""Conversions, against numpy."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "conversions of size numbers"
TYPES = ("int32",)
DEFAULT_SIZE = 32
MAX_SIZE = 1024


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-300, 300, size).astype(np.float32)
    y = rng.integers(-(1 << 31), 1 << 31, size, np.int64)
    octets = y.astype(np.uint32).view(np.uint8).reshape(-1, 4)
    far = np.where(x > 0, (1 << 31) - 1, -(1 << 31))
    rows = [
        np.trunc(x), np.rint(x), np.ceil(x), np.floor(x), np.trunc(np.clip(x, 0, 255)), np.clip(np.rint(x), -128, 127),
        np.clip(y, -(1 << 15), (1 << 15) - 1), np.maximum(y, 0), np.clip(y, 0, 255), far,
        y.astype(np.float32).view(np.int32), y.astype(np.uint32).astype(np.float32).view(np.int32),
        np.ascontiguousarray(octets[:, [2, 1, 0, 3]]).view(np.int32)[:, 0],
        y.astype(np.int8).astype(np.int64) + y.astype(np.uint16), np.trunc(np.clip(x * np.float32(4), 0, 255)),
        x.view(np.int32) ^ (y > 0).astype(np.float32).view(np.int32),
    ]
    expected = np.array([np.asarray(row).astype(np.int64) for row in rows]).astype(np.int32)
    buffers = Buffers(config)
    inputs = buffers.place("a", x), buffers.place("b", y.astype(np.int32))
    places = [*inputs, buffers.place_output("out", expected.shape)]
    return OpenCl(
        arguments=(*places, size), global_size=size, buffers=buffers.placed,
        check=lambda read: compare(read, "out", places[2], expected),
    )
