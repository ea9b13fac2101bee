"""Host side of diverge: the kernel's control flow restated with masks."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, random_values, require_size

ABOUT = "nested data-dependent branches and loops over size elements"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 16


def _by_key(keys: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The first part: splits three deep on one side, a loop with splits on the other."""
    kind = value.dtype.type
    low, middle, high = (keys & 1) == 1, (keys & 2) == 2, (keys & 4) == 4
    if kind is np.float32:
        tripled = fma32(value, np.full_like(value, 3), np.full_like(value, 1))
    else:
        tripled = value * kind(3) + kind(1)
    result = np.where(low & middle, tripled, np.where(low, value - kind(5), value))
    result = np.where(low & middle & high, result - kind(7), result)
    rounds = keys >> 1 & 7
    for turn in range(7):
        inside = ~low & (turn < rounds)
        taken = (keys >> (turn + 4) & 1) == 1
        result = np.where(inside, np.where(taken, result + kind(11), result * kind(2)), result)
    return result


def reference(keys: np.ndarray, source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(target, steps) of the kernel."""
    kind = source.dtype.type
    value = _by_key(keys, source)
    number, steps = (keys >> 8 & 63) + 1, np.zeros_like(keys)
    for _ in range(40):
        inside = number != 1
        number = np.where(inside, np.where(number & 1, number * 3 + 1, number >> 1), number)
        steps += inside
    for outer in range(3):
        inside = outer < (keys >> 16 & 3)
        stepped = value
        for _ in range(outer):
            stepped = stepped + kind(1)
        value = np.where(inside, stepped - kind(3), value)
    return value, steps


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Random keys and values. Raises KernelError for a size out of range."""
    require_size("diverge", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 1 << 32, size, np.uint32)
    source = random_values(rng, dtype, size)
    target, steps = reference(keys, source)
    buffers = Buffers(config)
    addresses = (
        buffers.place("keys", keys), buffers.place("source", source),
        buffers.place_output("target", size), buffers.place_output("steps", size),
    )
    return Problem(
        arguments=struct.pack("<5I", size, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[2], target) + compare(read, "steps", addresses[3], steps),
    )
