"""alignment scores of two sequences, a diagonal at a time."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "alignment scores of two sequences, a diagonal at a time"
TYPES = ("int32",)
DEFAULT_SIZE = 1
MAX_SIZE = 16


def make(dtype, size, seed, config):
    side = min(8, config.harts)
    similar = np.random.default_rng(seed).integers(-5, 6, (side, side)).astype(np.int32)
    score = np.zeros((side + 1, side + 1), np.int32)
    score[0] = score[:, 0] = -2 * np.arange(side + 1)
    for y, x in np.ndindex(side, side):
        score[y + 1, x + 1] = max(score[y, x] + similar[y, x], score[y + 1, x] - 2, score[y, x + 1] - 2)
    buffers = Buffers(config)
    places = buffers.place("similar", similar), buffers.place_output("out", (side, side))
    return OpenCl(
        arguments=(*places, 2), global_size=side, local_size=side, options=f"-DSIDE={side}", buffers=buffers.placed,
        check=lambda read: compare(read, "out", places[1], score[1:, 1:].copy()),
    )
