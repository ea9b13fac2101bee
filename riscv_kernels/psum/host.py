"""Host side of psum: inclusive prefix sum."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, KernelError, Problem, compare, random_values, require_size

ABOUT = "inclusive prefix sum over size elements, blocks in local memory with barriers"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 64
MAX_SIZE = 1 << 20


def block_threads(config: SmConfig) -> int:
    """Threads of a block: all of the machine, or half so that two blocks (and barriers) are at work at once."""
    return config.harts // 2 if config.warps >= 4 else config.harts


def reference(source: np.ndarray, block: int) -> np.ndarray:
    """The prefix sums with the kernel's order of additions."""
    blocks = -(-len(source) // block)
    sums = np.zeros((blocks, block), source.dtype)
    sums.reshape(-1)[: len(source)] = source
    distance = 1
    while distance < block:
        shifted = sums.copy()
        shifted[:, distance:] = sums[:, distance:] + sums[:, :-distance]
        sums = shifted
        distance *= 2
    before = np.zeros(blocks, source.dtype)
    total = source.dtype.type(0)
    with np.errstate(over="ignore"):
        for index in range(blocks):
            before[index] = total
            total = total + sums[index, -1]
    return (sums + before[:, np.newaxis]).reshape(-1)[: len(source)]


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Inputs for ``size`` elements of ``dtype``. Raises KernelError for a size or a machine out of range."""
    require_size("psum", size, MAX_SIZE)
    block = block_threads(config)
    # Two rows of words for each resident block; blocks of half the warps leave a warp over where their number is odd.
    needed = 2 * 4 * config.harts
    if needed > config.local_bytes:
        raise KernelError(f"psum needs {needed} bytes of local memory on this machine, it has {config.local_bytes}")
    source = random_values(np.random.default_rng(seed), dtype, size)
    expected = reference(source, block)
    blocks = -(-size // block)
    buffers = Buffers(config)
    addresses = (
        buffers.place("source", source), buffers.place_output("target", size), buffers.place_output("totals", blocks)
    )
    return Problem(
        arguments=struct.pack("<6I", size, blocks, block, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[1], expected),
    )
