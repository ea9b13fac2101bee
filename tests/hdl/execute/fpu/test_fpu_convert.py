"""The conversions against Berkeley SoftFloat, and to integers once more against exact rationals."""

import functools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import softfloatpy as sf

from metronome.hdl.isa.ops import FcvtOp, Unit
from metronome.hdl.presets import TINY
from tests.hdl.execute.fpu import fpu_operands
from tests.hdl.execute.fpu.fpu_batch import UnitBatch
from tests.hdl.execute.fpu.fpu_operands import COUNTS, EDGES, MODES, NV, NX, U32, assert_same, softfloat
from tests.hdl.execute.fpu.fpu_units import FloatBench, OneOf, check_idle_lane
from tests.hdl.execute.lane_harness import Operation
from tests.support.tiers import long_but, more_but, some_slow

#: One process compiles the unit, and no other waits for that.
pytestmark = pytest.mark.xdist_group("fpu_convert")
SEED = 53
CONFIG = replace(TINY, threads=1)
TO_INTEGER = (FcvtOp.W_S, FcvtOp.WU_S)


def numbers(rng: np.random.Generator, count: int) -> U32:
    """Edges; ties of both parities and their neighbours; every size around the integers' range; anything."""
    halves = fpu_operands.near(rng, rng.integers(-64, 64, count) / 4, 1)
    sized = fpu_operands.near(rng, np.ldexp(rng.uniform(-2, 2, count), rng.integers(-3, 34, count)), 0)
    powers = np.ldexp(1.0, rng.choice([-1, 0, 23, 24, 31, 32], count))
    limits = fpu_operands.near(rng, rng.choice([-1.0, 1.0], count) * powers, 2)
    drawn = [halves, sized, limits, fpu_operands.floats(rng, count)]
    return np.concatenate([EDGES, np.choose(rng.integers(0, 4, count), drawn)])


def integers(rng: np.random.Generator, count: int) -> U32:
    """Of every length; within 3 of 2**k, and of ties between numbers; and the negatives of these."""
    powers = np.array([(1 << k) + d for k in range(33) for d in range(-3, 4)])
    significands = ((1 << 23), (1 << 23) + 1, (1 << 24) - 1)
    ties = np.array([(2 * n + 1 << s) + d for s in range(8) for n in significands for d in (-1, 0, 1)])
    some = np.concatenate([powers, ties])
    drawn = rng.integers(0, 1 << 32, count) >> rng.integers(0, 33, count)
    return fpu_operands.bits(np.concatenate([some, -some, drawn]))


def expected(op: FcvtOp, operand: U32, rm: int) -> tuple[U32, U32]:
    """Results and flags."""
    if op in TO_INTEGER:
        convert = sf.f32_to_i32 if op == FcvtOp.W_S else sf.f32_to_ui32
        return softfloat(lambda x: convert(x, sf.RoundingMode(rm), True), (operand,), rm)
    reference, kind = (sf.i32_to_f32, sf.Int32) if op == FcvtOp.S_W else (sf.ui32_to_f32, sf.UInt32)
    return softfloat(reference, (operand,), rm, kind)


@functools.cache
def batch() -> UnitBatch:
    return UnitBatch(OneOf(CONFIG, Unit.FCVT), inputs=("op", "mask", "rm", "a", "b"), outputs=("result", "flags"))


@pytest.mark.more
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("mode", some_slow(MODES, 1))
@pytest.mark.parametrize("op", FcvtOp)
def test_operation(op, mode, count):
    """The second operand is anything, and counts for nothing."""
    rng = np.random.default_rng([SEED, op.value, MODES[mode]])
    a = (numbers if op in TO_INTEGER else integers)(rng, count)
    assert a.size >= count
    actual = batch().run(latency=CONFIG.latency_fcvt, op=op.value, mask=1, rm=MODES[mode], a=a, b=rng.permutation(a))
    assert_same(actual, expected(op, a, MODES[mode]), (a,), label=f"{op.name} {mode}, seed {SEED}",
                reach=NX | NV if op in TO_INTEGER else NX)


def _saturated(encoding: int, rm: int, low: int, high: int) -> int:
    """RISC-V's table of out of range results, on exact rationals."""
    number = float(fpu_operands.value(np.uint32([encoding]))[0])
    if not math.isfinite(number):
        return low if number == -math.inf else high
    exact = Fraction(number)
    away = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact > 0 else -1)
    rounded = [round(exact), math.trunc(exact), math.floor(exact), math.ceil(exact), away][rm]
    return min(max(rounded, low), high)


@pytest.mark.more
@pytest.mark.parametrize("op", TO_INTEGER)
def test_to_integer_by_exact_rationals(op):
    low, high = (-(2**31), 2**31 - 1) if op == FcvtOp.W_S else (0, 2**32 - 1)
    rng = np.random.default_rng([SEED, op.value])
    a = numbers(rng, 5000)
    rm = rng.integers(0, 5, a.size, dtype=np.uint32)
    actual = batch().run(latency=CONFIG.latency_fcvt, op=op.value, mask=1, rm=rm, a=a, b=a)[0]
    exact = [_saturated(encoding, mode, low, high) & 0xFFFF_FFFF
             for encoding, mode in zip(a.tolist(), rm.tolist(), strict=True)]
    np.testing.assert_array_equal(actual, exact, err_msg=f"seed {SEED}")


CONFIGS = [TINY, replace(TINY, threads=4, latency_fcvt=6), replace(TINY, threads=1, latency_fcvt=8),
           replace(TINY, threads=2, latency_fma=8, latency_fcvt=6, latency_fdiv=19)]


UNIT = FloatBench(make=lambda config: OneOf(config, Unit.FCVT), ops=FcvtOp, latency="latency_fcvt",
                  reference=lambda op, operands, rm: expected(op, operands[0], rm))
label = UNIT.label


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(long_but(CONFIGS, [CONFIGS[0], *CONFIGS[2:]]), CONFIGS[:1]), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_unit(config, gap):
    UNIT.check_random(config, 200, gap)


@pytest.mark.more
@pytest.mark.parametrize("age", more_but(long_but(range(1, 6), [1, 5]), [5]))
def test_reset_empties_the_pipeline(age):
    """An operation that is ``age`` cycles old at the reset completes only if it is due by then."""
    values, others = (0x4060_0000, 0xC060_0000, 0x7FC0_0000, 0x4EFF_FFFF), (3, 5, 1 << 31, 0xFFFF_FFFF)
    UNIT.check(replace(TINY, threads=4), {
        0: Operation(FcvtOp.W_S, 15, (values, others)),
        10: Operation(FcvtOp.S_WU, 15, (others, values)),
        11 + age: Operation(FcvtOp.WU_S, 5, (values, others), rm=4),
    }, seed=age, reset_at=10 + age)


@pytest.mark.more
def test_an_idle_lane_holds_still(tmp_path):
    check_idle_lane(UNIT, TINY, tmp_path, SEED)
