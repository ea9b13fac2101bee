"""Host side of hotspot: heat on a chip."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, require_size

ABOUT = "3 steps of heat on a chip of size x size cells, by one group, a barrier a step"
TYPES = ("float32",)
DEFAULT_SIZE = 8
MAX_SIZE = 512
#: For table I of Crouzet 2024: four cells per thread on PAPER.
PAPER_SIZE = 64
#: Odd, so that the result is in the other buffer.
STEPS = 3
#: rate, along_x, along_y, outside, ambient of kernel.c: a step moves a cell by a large part of the difference to
#: its neighbours, and the sum of the weights keeps the steps from oscillating.
COEFFICIENTS = tuple(map(np.float32, (0.7, 0.2, 0.15, 0.01, 80.0)))


def reference(temperature: np.ndarray, power: np.ndarray) -> np.ndarray:
    """The temperatures after all steps, with the kernel's order of operations."""
    rate, along_x, along_y, outside, ambient = (np.broadcast_to(each, power.shape) for each in COEFFICIENTS)
    for _ in range(STEPS):
        around = np.pad(temperature, 1, "edge")
        north, south, west, east = around[:-2, 1:-1], around[2:, 1:-1], around[1:-1, :-2], around[1:-1, 2:]
        twice = np.float32(2) * temperature  # exact, so fused or not is the same
        change = fma32((south + north) - twice, along_y, power)
        change = fma32((east + west) - twice, along_x, change)
        change = fma32(ambient - temperature, outside, change)
        temperature = fma32(rate, change, temperature)
    return temperature


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """A chip of ``size`` x ``size`` cells. Raises KernelError for a size out of range."""
    require_size("hotspot", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    temperature = rng.uniform(320, 340, (size, size)).astype(np.float32)
    power = rng.uniform(0, 2, (size, size)).astype(np.float32)
    expected = reference(temperature, power)
    buffers = Buffers(config)
    addresses = (
        buffers.place("power", power), buffers.place("temperature", temperature),
        buffers.place_output("other", (size, size)),
    )
    return Problem(
        arguments=struct.pack("<2I5f3I", size, STEPS, *COEFFICIENTS, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "other", addresses[2], expected),
    )
