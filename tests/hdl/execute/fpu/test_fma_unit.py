"""The contract of the fused multiply-add unit: when, in which lanes, and what holds still."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.isa.ops import FmaOp, Unit
from metronome.hdl.presets import TINY
from tests.hdl.execute.fpu.fpu_operands import softfloat
from tests.hdl.execute.fpu.fpu_units import FloatBench, OneOf, check_idle_lane
from tests.hdl.execute.fpu.test_fma import REFERENCES
from tests.support.tiers import long_but, more_but

CONFIGS = [TINY, replace(TINY, threads=4), *(replace(TINY, threads=2, latency_fma=n) for n in (5, 6, 7)),
           replace(TINY, threads=1, latency_fma=8),
           *(replace(TINY, threads=1, latency_fma=n, latency_fcvt=6, latency_fdiv=17) for n in (7, 8))]


def reference(op, operands, rm):
    operation, draw, _ = REFERENCES[op]
    return softfloat(operation, operands[:3 if draw.__name__ == "ternary" else 2], rm)


UNIT = FloatBench(make=lambda config: OneOf(config, Unit.FMA), ops=FmaOp, latency="latency_fma", reference=reference,
                  operands="abc")
label = UNIT.label


@pytest.mark.slow
@pytest.mark.parametrize(
    "config", more_but(long_but(CONFIGS, [CONFIGS[0], CONFIGS[2], CONFIGS[-1], CONFIGS[-3]]), CONFIGS[:1]), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    UNIT.check_random(config, 80, gap)


@pytest.mark.more
@pytest.mark.parametrize("age", more_but(long_but(range(1, 5), [1, 4]), [4]))
def test_reset_empties_the_pipeline(age):
    """An operation that is ``age`` cycles old at the reset completes only if it is due by then."""
    rng = random.Random(age)
    schedule = {cycle: UNIT.random(rng, FmaOp, 4) for cycle in (0, 10, 11 + age)}
    schedule[10] = replace(schedule[10], mask=15)
    UNIT.check(CONFIGS[1], schedule, seed=age, reset_at=10 + age)


@pytest.mark.more
@pytest.mark.parametrize("latency", long_but(range(4, 9), [4, 8]))
def test_an_idle_lane_holds_still(latency, tmp_path):
    check_idle_lane(UNIT, replace(TINY, latency_fma=latency), tmp_path, latency)


@pytest.mark.more
def test_an_idle_lane_holds_still_with_a_register_in_the_normalisation(tmp_path):
    check_idle_lane(UNIT, replace(TINY, latency_fma=8, latency_fcvt=6, latency_fdiv=19), tmp_path, 8)
