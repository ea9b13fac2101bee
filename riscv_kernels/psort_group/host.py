"""Host side of psort_group: sorting by rank in one group."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, require_size
from metronome.riscv_kernels.psort.host import unsorted

ABOUT = "sort size elements by rank in one group, with && and ||"
TYPES = ("int32", "float32")
DEFAULT_SIZE = 32
MAX_SIZE = 1 << 16
#: For table I of Crouzet 2024: one element per thread on PAPER.
PAPER_SIZE = 1024


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """Inputs of ``size`` elements, as those of psort. Raises KernelError for a size out of range."""
    require_size("psort_group", size, MAX_SIZE)
    source = unsorted(dtype, size, seed)
    buffers = Buffers(config)
    addresses = buffers.place("source", source), buffers.place_output("target", size)
    return Problem(
        arguments=struct.pack("<3I", size, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "target", addresses[1], np.sort(source, kind="stable")),
    )
