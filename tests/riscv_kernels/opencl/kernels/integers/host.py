"""Integer functions, against numpy."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "built-in functions of size integers"
TYPES = ("int32",)
DEFAULT_SIZE = 32
MAX_SIZE = 1024

LOW, HIGH = -(1 << 31), (1 << 31) - 1


def divided(x, y):
    """As in C: towards zero."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def signed(value, bits):
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def clz(value, bits=32):
    return bits - (value % (1 << bits)).bit_length()


def column(x, y):
    """The results of one element, in the order of kernel.cl."""
    u, v = x % (1 << 32), y % (1 << 32)
    wide = signed(x * y, 64)
    quotient = ((u << 20) % (1 << 64)) // (v | 1)
    odd = signed(v | 1, 32)
    rotated = (u << (v & 31) | u >> (32 - (v & 31))) if v & 31 else u
    chars = min(max(signed(x, 8) + signed(y, 8), -128), 127)
    return [
        min(x, y), max(u, v), abs(x), abs(x - y), min(max(x + y, LOW), HIGH), max(u - v, 0), (x + y) >> 1,
        (u + v + 1) >> 1, min(max(x, -1000), 1000),
        (x * y) >> 32, (u * v) >> 32, (x >> 20) * (y >> 20) + 5 + (u >> 20) * (v >> 20),
        rotated, clz(x >> (y & 31)) + 32 + 7 + 0, bin(u).count("1"), y if x > y else x,
        (u & ~0x0FF00FF0) | (v & 0x0FF00FF0), (x >> 16 << 16) | (y & 0xFFFF), (wide >> 13) + quotient,
        divided(x, odd) + x - divided(x, odd) * odd + u // (v | 1), chars + max((x & 0xFFFF) - (y & 0xFFFF), 0),
        (x < 0 or y < 0) + 2 * (x < 0 and y < 0) + ((x * y) >> 32) + 7,
    ]


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(LOW, HIGH, size, np.int64).astype(np.int32) for _ in range(2))
    results = [column(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    expected = np.array([[value % (1 << 32) for value in row] for row in results]).T.astype(np.uint32)
    buffers = Buffers(config)
    places = [buffers.place("a", a), buffers.place("b", b), buffers.place_output("out", expected.shape)]
    return OpenCl(
        arguments=(*places, size), global_size=size, buffers=buffers.placed,
        check=lambda read: compare(read, "out", places[2], expected),
    )
