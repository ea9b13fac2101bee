"""The host side of the kernel beside it: inputs from a seed, and the check of the result with numpy."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, random_values, value_word

#: A line for `metronome kernels`.
ABOUT = "out = factor * in + i over size elements"
#: Element types: kernel.c sees the chosen one as TYPE. The first one is the default.
TYPES = ("int32", "float32")
#: The default of `--size`, and its maximum.
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 16


def reference(factor: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The result of kernel.c, with the same operations: `a * b + c` of floats is one fused operation there."""
    numbers = np.arange(len(values)).astype(values.dtype)
    if values.dtype == np.float32:
        return fma32(factor, values, numbers)
    return factor * values + numbers


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """The inputs for ``size`` elements of ``dtype``, and the check. ``config`` is the machine that it will run on."""
    rng = np.random.default_rng(seed)
    factor, values = random_values(rng, dtype, 1), random_values(rng, dtype, size)
    expected = reference(factor, values)
    buffers = Buffers(config)
    # `metronome run ... --dump out=out.bin` uses these names.
    source, target = buffers.place("in", values), buffers.place_output("out", size)
    return Problem(
        # As kernel.c declares its arguments.
        arguments=struct.pack("<4I", size, value_word(factor[0], dtype), source, target),
        buffers=buffers.placed,
        # A line for each mistake; without a line the run has passed.
        check=lambda read: compare(read, "out", target, expected),
    )
