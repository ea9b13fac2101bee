"""The divider against arithmetic on Python integers."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from metronome.hdl.execute.div import DivUnit
from metronome.hdl.isa.ops import DivOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.lane_harness import EDGES, MASK32, Operation, check_unit, signed, spread
from tests.hdl.lib.simulate import simulated
from tests.support.tiers import some_more, some_slow

CONFIGS = [TINY, replace(TINY, threads=4), replace(TINY, latency_div=35), replace(TINY, threads=1, latency_div=40)]


def label(config):
    return f"{config.threads}_threads_latency_{config.latency_div}"


def reference(op: DivOp, a: int, b: int) -> int:
    """RISC-V unprivileged manual, chapter M, "Division Operations" and its table of division by zero and overflow."""
    if op in (DivOp.DIV, DivOp.REM):
        a, b = signed(a), signed(b)
    if b == 0:
        quotient, remainder = -1, a
    elif a == -1 << 31 and b == -1:
        quotient, remainder = a, 0
    else:
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        remainder = a - quotient * b
    return (quotient if op in (DivOp.DIV, DivOp.DIVU) else remainder) & MASK32


@pytest.mark.slow
@pytest.mark.parametrize("config", some_more(CONFIGS, 1), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    seed = 1000 + 100 * config.threads + 10 * config.latency_div + gap
    rng = random.Random(seed)
    operations = [Operation.random(rng, DivOp, config.threads) for _ in range(40)]
    check_unit(DivUnit, config, spread(operations, rng, distance=config.latency_div, gap=gap),
               latency=config.latency_div, reference=reference, rng=rng, label=f"seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("op", some_more(DivOp, 2))
def test_edges(op):
    """Division by zero, overflow and a sample of the other edges, eight lanes at a time."""
    config = replace(TINY, threads=8)
    rng = random.Random(op.value)
    pairs = [(a, 0) for a in EDGES] + [(0x8000_0000, MASK32), (0x8000_0000, 1), (MASK32, 0x8000_0000)]
    pairs += rng.sample([(a, b) for a in EDGES for b in EDGES if b], 101)
    operations = [Operation(op, 0xFF, *zip(*pairs[start:start + 8], strict=True)) for start in range(0, len(pairs), 8)]
    check_unit(DivUnit, config, spread(operations, rng, distance=34, gap=0), latency=34,
               reference=reference, rng=rng, label=f"edges of {op.name}")


@pytest.mark.parametrize("age", some_slow([1, 2, 20, 32, 33], 2))
def test_reset_abandons_a_division(age):
    """A division that is ``age`` cycles old at the reset gives no result, and does not disturb one right after it."""
    config = CONFIGS[1]
    rng = random.Random(age)
    schedule = {
        0: Operation(DivOp.DIVU, 15, (30, 40, 50, 60), (7, 7, 7, 7)),
        40: Operation(DivOp.DIVU, 15, (130, 140, 150, 160), (7, 7, 7, 7)),
        41 + age: Operation(DivOp.REMU, 5, (100, 100, 100, 100), (9, 9, 9, 9)),
    }
    check_unit(DivUnit, config, schedule, latency=34,
               reference=reference, rng=rng, reset_at=40 + age, label=f"reset at age {age}")


@pytest.mark.parametrize("config", some_slow(CONFIGS, 1), ids=label)
@simulated(lambda config: DivUnit(config))
async def test_busy(ctx, unit, config):
    """``busy`` is 1 in exactly the latency - 1 cycles in which no operation may arrive."""
    seen = []
    ctx.set(unit.mask, 1)
    for cycle in range(2 * config.latency_div):
        ctx.set(unit.valid, cycle in (0, config.latency_div))
        seen.append(ctx.get(unit.busy))
        await ctx.tick()
    assert seen == ([0] + [1] * (config.latency_div - 1)) * 2
