"""The multiplier against arithmetic on Python integers."""

from dataclasses import replace

import pytest

from metronome.hdl.execute.mul import MulUnit
from metronome.hdl.isa.ops import MulOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.lane_harness import MASK32, Operation, UnitBench, edge_operations, signed
from tests.support.tiers import more_but

CONFIGS = [TINY, replace(TINY, threads=4), replace(TINY, threads=4, latency_mul=2), replace(TINY, latency_mul=3),
           replace(TINY, threads=1, latency_mul=8)]


def reference(op: MulOp, a: int, b: int) -> int:
    """RISC-V unprivileged manual, chapter M, "Multiplication Operations"."""
    return {
        MulOp.MUL: a * b, MulOp.MULH: signed(a) * signed(b) >> 32, MulOp.MULHSU: signed(a) * b >> 32,
        MulOp.MULHU: a * b >> 32,
    }[op] & MASK32


UNIT = UnitBench(make=MulUnit, ops=MulOp, latency="latency_mul", reference=reference)
label = UNIT.label


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(CONFIGS, [CONFIGS[1], CONFIGS[4]]), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    UNIT.check_random(config, 300, gap)


@pytest.mark.parametrize("op", MulOp)
def test_edges(op):
    UNIT.check_all(CONFIGS[1], edge_operations([op], 4), seed=2)


@pytest.mark.parametrize("age", range(1, 5))
def test_reset_empties_the_pipeline(age):
    """An operation that is ``age`` cycles old at the reset completes only if it is due by then."""
    UNIT.check(CONFIGS[1], {
        0: Operation(MulOp.MUL, 15, ((3, 4, 5, 6), (7,) * 4)),
        10: Operation(MulOp.MUL, 15, ((13, 14, 15, 16), (7,) * 4)),
        11 + age: Operation(MulOp.MULHU, 5, ((MASK32,) * 4,) * 2),
    }, seed=age, reset_at=10 + age)
