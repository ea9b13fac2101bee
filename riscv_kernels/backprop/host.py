"""Host side of backprop: the forward step of a layer."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, require_size

ABOUT = "8 sums of inputs times weights, by one group, added as a tree in local memory"
TYPES = ("float32",)
DEFAULT_SIZE = 64
MAX_SIZE = 65536
#: OUTPUTS of kernel.c.
OUTPUTS = 8


def reference(values: np.ndarray, weights: np.ndarray, threads: int) -> np.ndarray:
    """The sums with the kernel's order of operations: each thread's inputs first, then pairs of threads."""
    parts = np.zeros((threads, OUTPUTS), np.float32)
    for i, value in enumerate(values):
        mine = i % threads
        parts[mine] = fma32(np.full(OUTPUTS, value), weights[i], parts[mine])
    step = 1
    while step < threads:
        first = np.arange(0, threads - step, 2 * step)
        parts[first] += parts[first + step]
        step *= 2
    return parts[0]


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """A layer of ``size`` inputs. Raises KernelError for a size out of range."""
    require_size("backprop", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    values = rng.uniform(0, 1, size).astype(np.float32)
    weights = rng.uniform(-1, 1, (size, OUTPUTS)).astype(np.float32)
    expected = reference(values, weights, config.warps * config.threads)
    buffers = Buffers(config)
    addresses = (
        buffers.place("values", values), buffers.place("weights", weights), buffers.place_output("sums", OUTPUTS),
    )
    return Problem(
        arguments=struct.pack("<4I", size, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "sums", addresses[2], expected),
    )
