"""The contract of the fused multiply-add unit: when, in which lanes, and what holds still."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.isa.ops import FmaOp, Unit
from metronome.hdl.presets import TINY
from tests.hdl.execute.fpu.fpu_operands import softfloat
from tests.hdl.execute.fpu.fpu_units import WIRED, FpuOperation, OneOf, check_fpu_unit, check_idle_lane
from tests.hdl.execute.fpu.test_fma import REFERENCES
from tests.hdl.execute.lane_harness import spread
from tests.support.tiers import long_but, more_but


def unit(config):
    return OneOf(config, Unit.FMA)


CONFIGS = [TINY, replace(TINY, threads=4), *(replace(TINY, threads=2, latency_fma=n) for n in (5, 6, 7)),
           replace(TINY, threads=1, latency_fma=8)]


def label(config):
    return f"{config.threads}_threads_latency_{config.latency_fma}"


def reference(op, rm, *operands):
    operation, draw, _ = REFERENCES[op]
    used = operands[:3 if draw.__name__ == "ternary" else 2]
    result, flags = softfloat(operation, [np.array([operand], np.uint32) for operand in used], rm)
    return int(result[0]), int(flags[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    "config", more_but(long_but(CONFIGS, [CONFIGS[0], CONFIGS[2], CONFIGS[-1]]), CONFIGS[:1]), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    seed = 1000 + 100 * config.threads + 10 * config.latency_fma + gap
    rng = random.Random(seed)
    operations = [FpuOperation.random(rng, FmaOp, config.threads, count=3) for _ in range(80)]
    check_fpu_unit(unit, config, spread(operations, rng, distance=1, gap=gap),
                   latency=config.latency_fma, reference=reference, rng=rng, label=f"seed {seed}")


@pytest.mark.more
@pytest.mark.parametrize("age", more_but(long_but(range(1, 5), [1, 4]), [4]))
def test_reset_empties_the_pipeline(age):
    """An operation that is ``age`` cycles old at the reset completes only if it is due by then."""
    config = CONFIGS[1]
    rng = random.Random(age)
    schedule = {cycle: FpuOperation.random(rng, FmaOp, 4, count=3) for cycle in (0, 10, 11 + age)}
    schedule[10] = replace(schedule[10], mask=15)
    check_fpu_unit(unit, config, schedule, latency=4, reference=reference, rng=rng,
                   reset_at=10 + age, label=f"reset at age {age}")


@pytest.mark.more
@pytest.mark.parametrize("latency", long_but(range(4, 9), [4, 8]))
def test_an_idle_lane_holds_still(latency, tmp_path):
    config = replace(TINY, latency_fma=latency)
    check_idle_lane(OneOf(config, Unit.FMA), FmaOp, latency=latency, interval=1, folder=tmp_path, seed=latency,
                    wired=WIRED)
