"""what each work-item of a range in three dimensions is told."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "what each work-item of a range in three dimensions is told"
TYPES = ("int32",)
DEFAULT_SIZE = 3
MAX_SIZE = 16


def make(dtype, size, seed, config):
    local = (2, 1, 2)
    whole = (4, size, 2)
    z, y, x = np.indices(whole[::-1], np.uint32)
    expected = np.full(whole[::-1], 3, np.uint32)
    for place, part, total in zip((x, y, z), local, whole, strict=True):
        expected = expected * 7 + part + 3 * (total // part) + 5 * (place // part) + place % part + 2 * total
    buffers = Buffers(config)
    out = buffers.place_output("out", expected.shape)
    return OpenCl(
        arguments=(out,), global_size=whole, local_size=local, buffers=buffers.placed,
        check=lambda read: compare(read, "out", out, expected.astype(np.uint32)),
    )
