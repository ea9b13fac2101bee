"""one step of a breadth-first search over size nodes."""

import numpy as np

from metronome.riscv_kernels.host import Buffers, compare
from metronome.riscv_kernels.opencl import OpenCl

ABOUT = "one step of a breadth-first search over size nodes"
TYPES = ("int32",)
DEFAULT_SIZE = 40
MAX_SIZE = 4096


def make(dtype, size, seed, config):
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 6, size)
    nodes = np.stack([np.cumsum(degrees) - degrees, degrees], 1).astype(np.int32)
    edges = rng.integers(0, size, max(1, int(degrees.sum()))).astype(np.int32)
    frontier, visited = (rng.integers(0, 2, size).astype(np.int32) for _ in range(2))
    cost = np.full(size, -1, np.int32)
    reached = np.zeros(size, bool)
    for node in np.flatnonzero(frontier):
        reached[edges[nodes[node, 0] :][: nodes[node, 1]]] = True
    reached &= visited == 0
    buffers = Buffers(config)
    names = ("nodes", "edges", "frontier", "next", "visited", "cost")
    values = (nodes, edges, frontier, np.zeros(size, np.int32), visited, cost)
    places = {name: buffers.place(name, value) for name, value in zip(names, values, strict=True)}

    def check(read):
        expected = {"frontier": frontier * 0, "next": reached.astype(np.int32), "cost": np.where(reached, 3, cost)}
        return [line for name, value in expected.items()
                for line in compare(read, name, places[name], value.astype(np.int32))]

    return OpenCl(
        arguments={**places, "count": size}, global_size=size, buffers=buffers.placed, check=check, kernel="bfs_step",
    )
