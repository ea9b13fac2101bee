"""The divider against arithmetic on Python integers."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.execute.div import DivUnit
from metronome.hdl.isa.ops import DivOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.lane_harness import EDGES, MASK32, Operation, UnitBench, check_busy, signed
from tests.hdl.lib.simulate import simulated
from tests.support.tiers import some_more, some_slow

CONFIGS = [TINY, replace(TINY, threads=4), replace(TINY, latency_div=35), replace(TINY, threads=1, latency_div=40)]


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


UNIT = UnitBench(make=DivUnit, ops=DivOp, latency="latency_div", reference=reference, pipelined=False)
label = UNIT.label


@pytest.mark.slow
@pytest.mark.parametrize("config", some_more(CONFIGS, 1), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    UNIT.check_random(config, 40, gap)


@pytest.mark.slow
@pytest.mark.parametrize("op", some_more(DivOp, 2))
def test_edges(op):
    """Division by zero, overflow and a sample of the other edges, eight lanes at a time."""
    pairs = [(a, 0) for a in EDGES] + [(0x8000_0000, MASK32), (0x8000_0000, 1), (MASK32, 0x8000_0000)]
    pairs += random.Random(op.value).sample([(a, b) for a in EDGES for b in EDGES if b], 101)
    eights = [tuple(zip(*pairs[start:start + 8], strict=True)) for start in range(0, len(pairs), 8)]
    UNIT.check_all(replace(TINY, threads=8), [Operation(op, 0xFF, eight) for eight in eights], seed=op.value)


@pytest.mark.parametrize("age", some_slow([1, 2, 20, 32, 33], 2))
def test_reset_abandons_a_division(age):
    """A division that is ``age`` cycles old at the reset gives no result, and does not disturb one right after it."""
    UNIT.check(CONFIGS[1], {
        0: Operation(DivOp.DIVU, 15, ((30, 40, 50, 60), (7,) * 4)),
        40: Operation(DivOp.DIVU, 15, ((130, 140, 150, 160), (7,) * 4)),
        41 + age: Operation(DivOp.REMU, 5, ((100,) * 4, (9,) * 4)),
    }, seed=age, reset_at=40 + age)


@pytest.mark.parametrize("config", some_slow(CONFIGS, 1), ids=label)
@simulated(lambda config: DivUnit(config))
async def test_busy(ctx, unit, config):
    await check_busy(ctx, unit, config.latency_div)
