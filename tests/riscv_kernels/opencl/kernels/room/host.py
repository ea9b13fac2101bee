"""Local memory: more than a few groups have room for, and groups of one work-item."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import Local, OpenCl

ABOUT = "size work-groups that need much local memory"
TYPES = ("int32",)
DEFAULT_SIZE = 9
MAX_SIZE = 64


def filled(group, lane, local):
    return 3 * group + 3 + group + local - 1 - lane + group + 7 + 10 * (group * 1000 + lane) + 4500


def make(dtype, size, seed, config, kernel="fill"):
    local = 4 if kernel == "fill" else 1
    group, lane = np.indices((size, local))
    expected = filled(group, lane, local) if kernel == "fill" else -(-group // 4) * 4
    buffers = Buffers(config)
    out = buffers.place_output("out", expected.shape)
    arguments = (out, Local(64 * local), Local(4 * local)) if kernel == "fill" else (out,)
    return OpenCl(
        kernel=kernel, arguments=arguments, global_size=size * local, local_size=local, buffers=buffers.placed,
        check=lambda read: compare(read, "out", out, expected.astype(np.uint32)),
    )
