"""What an SM sees of another's stores: litmus shapes with random delays on the RTL (docs/memory.md, "Several SMs")."""

import pytest

from metronome.sim.machine.memory.registry import MemoryOptions
from tests.support.builds import GPU, L2_GPU, PARTS_GPU, SMALL_GPU, on
from tests.system.litmus_programs import ROUNDS, Shape, observe

MEMORIES = [
    {"memory": "fixed", "latency": 1}, {"memory": "fixed", "latency": 20}, {"memory": "random", "latency": 60},
    {"memory": "dram"}, {"memory": "random", "latency": 100, "memory_options": MemoryOptions(adversarial=True)},
]
#: Names as in the literature: message passing, store and load buffering, coherence of reads, write to read causality,
#: independent reads of independent writes. F: a fence; B: a barrier between SMs.
SHAPES = {
    "MP": Shape({(0, 0): (("x", 1), ("y", 1)), (1, 0): ("y", "x")}),
    "MP+F+F": Shape({(0, 0): (("x", 1), "F", ("y", 1)), (1, 0): ("y", "F", "x")}, frozenset({(1, 0)})),
    "MP+B": Shape({(0, 0): (("x", 1), "B"), (1, 0): ("x", "B", "x")}, frozenset({(0, 0), (1, 0)}), programs=16),
    "SB": Shape({(0, 0): (("x", 1), "y"), (1, 0): (("y", 1), "x")}),
    "SB+F+F": Shape({(0, 0): (("x", 1), "F", "y"), (1, 0): (("y", 1), "F", "x")}, frozenset({(0, 0)})),
    "LB": Shape({(0, 0): ("x", ("y", 1)), (1, 0): ("y", ("x", 1))}),
    "LB+F+F": Shape({(0, 0): ("x", "F", ("y", 1)), (1, 0): ("y", "F", ("x", 1))}, frozenset({(1, 1)}), programs=16),
    "CoRR": Shape({(0, 0): (("x", 1),), (1, 0): ("x", "x")}, frozenset({(1, 0)})),
    "CoWR": Shape({(0, 0): (("x", 1), "F", "x"), (1, 0): (("x", 2), "F", "x")}, frozenset({
        (0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1)})),
    "WRC+F+F, one SM": Shape(
        {(0, 0): (("x", 1),), (0, 1): ("x", "F", ("y", 1)), (1, 0): ("y", "F", "x")}, frozenset({(1, 1, 0)})),
}
FOUR = {
    "CoRR2": Shape({(0, 0): (("x", 1),), (1, 0): (("x", 2),), (2, 0): ("x", "x"), (3, 0): ("x", "x")}, frozenset({
        (1, 2, 2, 1), (2, 1, 1, 2), (1, 0, 0, 0), (2, 0, 0, 0), (0, 0, 1, 0), (0, 0, 2, 0)})),
    "IRIW+F+F": Shape({(0, 0): (("x", 1),), (1, 0): (("y", 1),), (2, 0): ("x", "F", "y"), (3, 0): ("y", "F", "x")},
                      frozenset({(1, 0, 1, 0)})),
    "WRC+F+F": Shape({(0, 0): (("x", 1),), (1, 0): ("x", "F", ("y", 1)), (2, 0): ("y", "F", "x")},
                     frozenset({(1, 1, 0)})),
}
CASES = [
    pytest.param(gpu, shape, id=f"{build}-{name}", marks=on(build))
    for build, gpu in (("GPU", GPU), ("SMALL_GPU", SMALL_GPU), ("L2_GPU", L2_GPU), ("PARTS_GPU", PARTS_GPU))
    for name, shape in (SHAPES | (FOUR if gpu.sms == 4 else {})).items()
]


def check(gpu, shape, programs, seed, *, lock_step):
    counts = observe(shape, gpu, programs, seed, check=lock_step, memories=MEMORIES)
    assert sum(counts.values()) == programs * ROUNDS
    assert not shape.forbidden & counts.keys(), counts
    # The delays are such that the SMs do meet.
    assert len(counts) > 1, counts


@pytest.mark.parametrize(("gpu", "shape"), CASES)
def test_nothing_forbidden_is_seen(gpu, shape):
    check(gpu, shape, shape.programs, 1, lock_step=True)


@pytest.mark.long
@pytest.mark.parametrize(("gpu", "shape"), CASES)
def test_ten_thousand_schedules(gpu, shape):
    check(gpu, shape, 100, 2, lock_step=False)
