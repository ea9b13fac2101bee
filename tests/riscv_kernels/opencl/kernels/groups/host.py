"""barriers in functions, in branches that a group takes together, and behind early returns."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "barriers in functions, in branches that a group takes together, and behind early returns"
TYPES = ("int32",)
DEFAULT_SIZE = 6
MAX_SIZE = 64


def expected_of(group, size, turns):
    cells = group * size + np.arange(size)
    if group & 1:
        cells = np.roll(cells, turns)
    else:
        cells = cells[::-1].copy()
        cells[0] += 1000 * (turns > 2)
    for lane in range(size):
        total = 0
        for i, cell in enumerate(cells):
            if cell % 3 != lane % 3:
                total += cell * (i + 1)
                if total > 500:
                    break
        yield total


def make(dtype, size, seed, config):
    local, skip = min(8, config.harts), 2
    turns = np.random.default_rng(seed).integers(0, 5, size).astype(np.int32)
    expected = np.array([list(expected_of(group, local, turns[group])) for group in range(size)]).astype(np.int32)
    if skip < size:
        expected[skip] = -1
    buffers = Buffers(config)
    out, given = buffers.place("out", np.full(expected.shape, -1, np.int32)), buffers.place("turns", turns)
    return OpenCl(
        arguments=(out, given, Local(4 * local), skip), global_size=size * local, local_size=local,
        buffers=buffers.placed, check=lambda read: compare(read, "out", out, expected),
    )
