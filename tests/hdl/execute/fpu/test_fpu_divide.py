"""Division and square root against Berkeley SoftFloat; and that the latency is fixed."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import softfloatpy as sf

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import FdivOp, Unit
from metronome.hdl.presets import TINY
from tests.hdl.execute.fpu import fpu_operands
from tests.hdl.execute.fpu.fpu_batch import UnitBatch
from tests.hdl.execute.fpu.fpu_operands import COUNTS, DZ, EDGES, MODES, NV, NX, OF, UF, assert_same, softfloat
from tests.hdl.execute.fpu.fpu_units import FloatBench, OneOf, check_idle_lane
from tests.hdl.execute.lane_harness import Operation, check_busy
from tests.hdl.lib.simulate import simulated
from tests.support.tiers import long_but, more_but

#: One process compiles the unit, and no other waits for that.
pytestmark = pytest.mark.xdist_group("fpu_divide")
SEED = 52
CONFIG = replace(TINY, threads=1)
LATENCY = CONFIG.latency_fdiv
#: With a register for the operands, for the exponent, and in the normalisation.
LONG = replace(CONFIG, latency_fma=8, latency_fcvt=6, latency_fdiv=19)


@functools.cache
def batch(config: SmConfig = CONFIG) -> UnitBatch:
    return UnitBatch(OneOf(config, Unit.FDIV), inputs=("op", "mask", "rm", "a", "b"), outputs=("result", "flags"))


def expected(op, operands, rm):
    """Results and flags."""
    if op == FdivOp.FDIV:
        return softfloat(sf.f32_div, operands, rm)
    return softfloat(sf.f32_sqrt, operands[:1], rm)


#: Every mode; and the mode with ties once more with the longer latencies.
LATENCIES = [*((CONFIG, mode) for mode in MODES), (LONG, next(iter(MODES)))]


@pytest.mark.more
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("config", "mode"), LATENCIES)
def test_division(config, mode, count):
    rm, latency = MODES[mode], config.latency_fdiv
    a, b = operands = fpu_operands.binary(np.random.default_rng([SEED, rm]), count)
    actual = batch(config).run(latency=latency, interval=latency, op=FdivOp.FDIV.value, mask=1, rm=rm, a=a, b=b)
    assert_same(actual, softfloat(sf.f32_div, operands, rm), operands,
                label=f"division {mode}, seed {SEED}", reach=NX | UF | OF | DZ | NV)


@pytest.mark.more
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("config", "mode"), LATENCIES)
def test_square_root(config, mode, count):
    """The second operand is anything, and counts for nothing."""
    rm, latency = MODES[mode], config.latency_fdiv
    rng = np.random.default_rng([SEED, rm])
    operands = fpu_operands.unary(rng, count)
    b = rng.choice(EDGES, operands[0].size)
    actual = batch(config).run(
        latency=latency, interval=latency, op=FdivOp.FSQRT.value, mask=1, rm=rm, a=operands[0], b=b)
    assert_same(actual, softfloat(sf.f32_sqrt, operands, rm), operands,
                label=f"square root {mode}, seed {SEED}", reach=NX | NV)


@pytest.mark.more
@pytest.mark.parametrize("op", FdivOp)
def test_nothing_is_there_a_cycle_early(op):
    """For all pairs of edges: a cycle before it is due, the result is still that of the operation before."""
    a, b = operands = fpu_operands.binary(np.random.default_rng(SEED), 0)
    results, flags = batch().run(latency=LATENCY - 1, interval=LATENCY, op=op.value, mask=1, rm=0, a=a, b=b)
    assert np.array_equal(results[1:], expected(op, operands, 0)[0][:-1]) and not flags.any()


CONFIGS = [TINY, replace(TINY, threads=4, latency_fdiv=17), replace(TINY, threads=1, latency_fdiv=40),
           replace(LONG, threads=2), replace(TINY, threads=1, latency_fdiv=18),
           replace(LONG, threads=1, latency_fdiv=17), replace(LONG, threads=1, latency_fdiv=18)]


UNIT = FloatBench(make=lambda config: OneOf(config, Unit.FDIV), ops=FdivOp, latency="latency_fdiv", reference=expected,
                  pipelined=False)
label = UNIT.label


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(long_but(CONFIGS, [CONFIGS[0], *CONFIGS[2:4]]), CONFIGS[:1]), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_unit(config, gap):
    """Whatever the operands, the result is there after exactly the latency, and not before."""
    UNIT.check_random(config, 60, gap)


@pytest.mark.more
@pytest.mark.parametrize("age", more_but(long_but([1, 2, 13, 14, 15], [1, 15]), [15]))
def test_reset_abandons_an_operation(age):
    """One that is ``age`` cycles old at the reset gives no result, and does not disturb one right after it."""
    values = (0x40400000, 0x3F800000, 0x00000001, 0xC1200000)
    UNIT.check(replace(TINY, threads=4), {
        0: Operation(FdivOp.FDIV, 15, (values, values[::-1])),
        20: Operation(FdivOp.FDIV, 15, (values[::-1], values)),
        21 + age: Operation(FdivOp.FSQRT, 5, (values, values), rm=1),
    }, seed=age, reset_at=20 + age)


@pytest.mark.more
@pytest.mark.parametrize("config", more_but(CONFIGS, CONFIGS[1:2]), ids=label)
@simulated(lambda config: OneOf(config, Unit.FDIV))
async def test_busy(ctx, unit, config):
    await check_busy(ctx, unit, config.latency_fdiv)


@pytest.mark.long
@pytest.mark.parametrize("config", [TINY, replace(LONG, threads=2)], ids=label)
def test_an_idle_lane_holds_still(config, tmp_path):
    check_idle_lane(UNIT, config, tmp_path, SEED)
