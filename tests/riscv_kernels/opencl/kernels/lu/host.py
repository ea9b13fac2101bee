"""the factors of a small matrix, and a strip beside and below it."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare_close
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "the factors of a small matrix, and a strip beside and below it"
TYPES = ("float32",)
DEFAULT_SIZE = 1
MAX_SIZE = 16


def make(dtype, size, seed, config):
    side = 2 if config.harts < 16 else 4
    rng = np.random.default_rng(seed)
    values = (rng.random((2 * side, 2 * side)) + 4 * np.eye(2 * side)).astype(np.float32)
    expected = values.astype(np.float64)
    for k in range(side):
        expected[k + 1 :, k] /= expected[k, k]
        expected[k + 1 : side, k + 1 :] -= np.outer(expected[k + 1 : side, k], expected[k, k + 1 :])
        expected[side:, k + 1 : side] -= np.outer(expected[side:, k], expected[k, k + 1 : side])
    buffers = Buffers(config)
    place = buffers.place("m", values)
    return OpenCl(
        arguments=(place, Local(4 * side * side), Local(8 * side * side), 2 * side), global_size=2 * side,
        local_size=2 * side, options=f"-DSIDE={side}", buffers=buffers.placed,
        check=lambda read: compare_close(read, "m", place, expected.astype(np.float32), 1e-4, 1e-4),
    )
