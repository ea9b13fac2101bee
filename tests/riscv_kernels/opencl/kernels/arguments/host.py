"""arguments of all kinds, more than there are registers."""

import struct

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "arguments of all kinds, more than there are registers"
TYPES = ("int32",)
DEFAULT_SIZE = 10
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    local = min(4, config.harts)
    count = -(-size // local) * local
    buffers = Buffers(config)
    out = buffers.place_output("out", count)
    table = buffers.place("table", np.array([7, -9], np.int32))
    given = (
        200, -3, (5 << 32) + 11, (1.5, 2.5, 3.5, 4.5), (10, 20, 30), struct.pack("<b3x3if", -7, 100, 200, 300, 8.0),
        out, (3, -4), table, np.float32(2.0), np.arange(8), Local(4 * local), Local(4 * local), -1000,
    )
    fixed = 200 - 3 + 5 + 11 + 10 + 40 + 90 - 7 + 3 + 4 - 9 + 0 + 7 - 1000 + 22
    index = np.arange(count)
    after = index // local * local + (index + 1) % local
    expected = fixed + np.array([100, 200, 300])[index % 3] + 3 * after
    return OpenCl(
        arguments=given, global_size=count, local_size=local, buffers=buffers.placed,
        check=lambda read: compare(read, "out", out, expected.astype(np.int32)),
    )
