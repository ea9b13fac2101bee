"""Functions of floats, against numpy in float64."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "built-in functions of size floats"
TYPES = ("float32",)
DEFAULT_SIZE = 32
MAX_SIZE = 1024


def fract(x):
    return x - np.floor(x)


def rows(x, y):
    """The results in the order of kernel.cl."""
    positive = np.abs(x)
    one = [
        np.sqrt(x), 1 / np.sqrt(x), positive, np.floor(x), np.ceil(x), np.trunc(x),
        np.sign(x) * np.floor(positive + 0.5), np.rint(x),
        np.exp(x), np.exp2(x), 10.0**x, np.expm1(x), np.log(x), np.log2(x), np.log10(x), np.log1p(x),
        np.sin(x), np.cos(x), np.tan(x), np.arcsin(x), np.arccos(x), np.arctan(x), np.sinh(x), np.cosh(x), np.tanh(x),
        np.cbrt(x), np.degrees(x), np.radians(x), np.sign(x), np.sin(x), np.exp(x), 1 / x,
    ]
    toward = np.nextafter(x.astype(np.float32), y.astype(np.float32))
    two = [
        np.minimum(x, y), np.maximum(x, y), x**y, np.fmod(x, y), np.hypot(x, y), np.arctan2(x, y), np.maximum(x - y, 0),
        np.copysign(x, y), np.where(y < x, 0, 1), toward, x / y, np.where(np.abs(x) > np.abs(y), x, y), x**y,
    ]
    part, exponent = np.frexp(x)
    edge = np.clip((x + 1) / 2, 0, 1)
    power = exponent - 1
    flags = 2 + 4 + 8 * (x < 0) + 16 * (x < y) + 32
    others = [
        x**3, x * 32, np.clip(x, -0.5, 0.5), x + (y - x) / 4, edge * edge * (3 - 2 * edge), part, exponent,
        *np.modf(3 * x), fract(x), np.sin(x), np.cos(x), power + power, flags, 2 * x * y + 3,
    ]
    return np.array([*one, *two, *others])


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    a, b = (rng.uniform(-4, 4, size).astype(np.float32) for _ in range(2))
    a[::2] = rng.uniform(0, 1, len(a[::2]))
    with np.errstate(all="ignore"):
        expected = rows(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    buffers = Buffers(config)
    places = [buffers.place("a", a), buffers.place("b", b), buffers.place_output("out", expected.shape)]
    return OpenCl(
        arguments=(*places, size), global_size=size, buffers=buffers.placed,
        check=lambda read: compare_close(read, "out", places[2], expected, 2e-6, 1e-6),
    )
