"""Host side of hotspot3d: heat in a chip of several layers."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, require_size

ABOUT = "3 steps of heat in a chip of 8 layers of size x size cells, by one group, a barrier a step"
TYPES = ("float32",)
DEFAULT_SIZE = 4
MAX_SIZE = 256
#: For table I of Crouzet 2024: one place, with all its layers, a thread on PAPER.
PAPER_SIZE = 32
#: As Rodinia's usual run.
LAYERS = 8
#: Odd, so that the result is in the other buffer.
STEPS = 3
#: same, along_x, along_y, along_z, heating, air of kernel.c. All weights of temperatures are one together, that of the
#: air (0.01, at 80 degrees) included, so the steps do not swing up.
COEFFICIENTS = tuple(map(np.float32, (0.25, 0.13, 0.12, 0.12, 0.3, 0.8)))


def _moved(values: np.ndarray, axis: int, by: int) -> np.ndarray:
    """The neighbours one further on (``by`` = 1) or one back (-1); at the border the cells themselves."""
    indices = np.clip(np.arange(values.shape[axis]) + by, 0, values.shape[axis] - 1)
    return np.take(values, indices, axis)


def reference(temperature: np.ndarray, power: np.ndarray) -> np.ndarray:
    """The temperatures (layer, row, column) after all steps, with the kernel's order of operations."""
    same, along_x, along_y, along_z, heating, air = (np.broadcast_to(each, power.shape) for each in COEFFICIENTS)
    for _ in range(STEPS):
        total = fma32(same, temperature, along_x * _moved(temperature, 2, -1))
        total = fma32(along_x, _moved(temperature, 2, 1), total)
        total = fma32(along_y, _moved(temperature, 1, 1), total)
        total = fma32(along_y, _moved(temperature, 1, -1), total)
        total = fma32(along_z, _moved(temperature, 0, -1), total)
        total = fma32(along_z, _moved(temperature, 0, 1), total)
        temperature = fma32(heating, power, total) + air
    return temperature


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """A chip of layers of ``size`` x ``size`` cells. Raises KernelError for a size out of range."""
    require_size("hotspot3d", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    temperature = rng.uniform(320, 340, (LAYERS, size, size)).astype(np.float32)
    power = rng.uniform(0, 2, temperature.shape).astype(np.float32)
    expected = reference(temperature, power)
    buffers = Buffers(config)
    addresses = (
        buffers.place("power", power), buffers.place("temperature", temperature),
        buffers.place_output("other", temperature.shape),
    )
    return Problem(
        arguments=struct.pack("<3I6f3I", size, LAYERS, STEPS, *COEFFICIENTS, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "other", addresses[2], expected),
    )
