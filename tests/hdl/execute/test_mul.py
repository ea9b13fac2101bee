"""The multiplier against arithmetic on Python integers."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from metronome.hdl.execute.mul import MulUnit
from metronome.hdl.isa.ops import MulOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.lane_harness import MASK32, Operation, check_unit, edge_operations, signed, spread
from tests.support.tiers import more_but

CONFIGS = [TINY, replace(TINY, threads=4), replace(TINY, threads=4, latency_mul=2), replace(TINY, latency_mul=3),
           replace(TINY, threads=1, latency_mul=8)]


def label(config):
    return f"{config.threads}_threads_latency_{config.latency_mul}"


def reference(op: MulOp, a: int, b: int) -> int:
    """RISC-V unprivileged manual, chapter M, "Multiplication Operations"."""
    return {
        MulOp.MUL: a * b, MulOp.MULH: signed(a) * signed(b) >> 32, MulOp.MULHSU: signed(a) * b >> 32,
        MulOp.MULHU: a * b >> 32,
    }[op] & MASK32


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(CONFIGS, [CONFIGS[1], CONFIGS[4]]), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    seed = 1000 + 100 * config.threads + 10 * config.latency_mul + gap
    rng = random.Random(seed)
    operations = [Operation.random(rng, MulOp, config.threads) for _ in range(300)]
    check_unit(MulUnit, config, spread(operations, rng, distance=1, gap=gap), latency=config.latency_mul,
               reference=reference, rng=rng, label=f"seed {seed}")


@pytest.mark.parametrize("op", MulOp)
def test_edges(op):
    config = CONFIGS[1]
    rng = random.Random(2)
    operations = edge_operations([op], config.threads)
    check_unit(MulUnit, config, spread(operations, rng, distance=1, gap=0), latency=4,
               reference=reference, rng=rng, label=f"edges of {op.name}")


@pytest.mark.parametrize("age", range(1, 5))
def test_reset_empties_the_pipeline(age):
    """An operation that is ``age`` cycles old at the reset completes only if it is due by then."""
    config = CONFIGS[1]
    rng = random.Random(age)
    schedule = {
        0: Operation(MulOp.MUL, 15, (3, 4, 5, 6), (7, 7, 7, 7)),
        10: Operation(MulOp.MUL, 15, (13, 14, 15, 16), (7, 7, 7, 7)),
        11 + age: Operation(MulOp.MULHU, 5, (0xFFFF_FFFF,) * 4, (0xFFFF_FFFF,) * 4),
    }
    check_unit(MulUnit, config, schedule, latency=4,
               reference=reference, rng=rng, reset_at=10 + age, label=f"reset at age {age}")
