"""Warp-instructions of every kernel on PAPER, exactly. A change that moves one edits this table."""

import pytest
from iss_runs import dirty_registers

from metronome.hdl.presets import PAPER
from metronome.sim.iss import Iss
from metronome.sim.kernel import load_into, prepare
from metronome.sim.memory.store import SparseMemory

#: (kernel, type, size) -> (total, inside the measured region)
COUNTS = {
    ("vecadd", "int32", 1024): (2094, 1550),
    ("vecadd", "float32", 1024): (2094, 1550),
    ("saxpy", "int32", 1024): (2094, 1550),
    ("saxpy", "float32", 1024): (2062, 1518),
    ("sgemm", "int32", 32): (10643, 10096),
    ("sgemm", "float32", 32): (9619, 9072),
    ("psort", "int32", 256): (23526, 22982),
    ("psort", "float32", 256): (21478, 20934),
    ("transpose", "int32", 32): (2527, 1979),
    ("transpose", "float32", 32): (2527, 1979),
    ("psum", "int32", 1024): (9543, 8996),
    ("psum", "float32", 1024): (11010, 10463),
    ("diverge", "int32", 1024): (26000, 25456),
    ("diverge", "float32", 1024): (28651, 28107),
}


def count(name: str, dtype: str, size: int) -> tuple[int, int]:
    """Step all warps by turns to the end and count."""
    launch = prepare(name, dtype, size, seed=1, config=PAPER)
    memory = SparseMemory(PAPER.memory_map)
    load_into(launch, memory)
    iss = Iss(PAPER, memory)
    iss.launch(launch.entry, launch.argument_address)
    dirty_registers(iss, seed=2)
    total = region = 0
    while any(iss.active):
        for warp in range(PAPER.warps):
            if iss.active[warp] and iss.waiting[warp] is None:
                region += iss.mregion
                total += 1
                commit = iss.step(warp)
                assert commit.fault is None, commit.fault
    assert launch.check(memory) == []
    return total, region


@pytest.mark.parametrize(("name", "dtype", "size"), list(COUNTS))
def test_counts(name, dtype, size):
    assert count(name, dtype, size) == COUNTS[name, dtype, size]
