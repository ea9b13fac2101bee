"""Host side of kmeans: the nearest centre of each point."""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import Buffers, Problem, compare, fma32, require_size

ABOUT = "the nearest of 5 centres for each of size points of 34 features, by one group"
TYPES = ("float32",)
DEFAULT_SIZE = 32
MAX_SIZE = 1 << 16
#: For table I of Crouzet 2024: three points per thread on PAPER.
PAPER_SIZE = 3072
#: As Rodinia's usual run: the features of its data set, and the clusters that it begins with.
FEATURES = 34
CLUSTERS = 5


def reference(values: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The nearest centre of each point. ``values`` has a row a feature, ``centres`` a row a centre."""
    distances = np.zeros((len(centres), values.shape[1]), np.float32)
    for feature, row in enumerate(values):
        apart = row - centres[:, feature, np.newaxis]
        distances = fma32(apart, apart, distances)
    return np.argmin(distances, axis=0).astype(np.uint32)


def make(dtype: str, size: int, seed: int, config: SmConfig) -> Problem:
    """``size`` points and the centres, all around the origin. Raises KernelError."""
    require_size("kmeans", size, MAX_SIZE)
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((FEATURES, size), np.float32)
    centres = rng.standard_normal((CLUSTERS, FEATURES), np.float32)
    expected = reference(values, centres)
    buffers = Buffers(config)
    addresses = (
        buffers.place("values", values), buffers.place("centres", centres), buffers.place_output("nearest", size)
    )
    return Problem(
        arguments=struct.pack("<6I", size, FEATURES, CLUSTERS, *addresses),
        buffers=buffers.placed,
        check=lambda read: compare(read, "nearest", addresses[2], expected),
    )
