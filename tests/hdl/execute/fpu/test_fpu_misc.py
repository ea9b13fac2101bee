"""Signs, minimum and maximum, comparisons, classes and moves against Berkeley SoftFloat and RISC-V's tables."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import softfloatpy as sf

from metronome.hdl.execute.fpu.misc import FmiscUnit
from metronome.hdl.isa.ops import FmiscOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.fpu.fpu_batch import UnitBatch
from tests.hdl.execute.fpu.fpu_operands import COUNTS, NV, U32, assert_same, binary, softfloat
from tests.hdl.execute.fpu.fpu_units import FloatBench, check_idle_lane
from tests.hdl.execute.lane_harness import Operation
from tests.support.tiers import more_but, some_slow

#: One process compiles the unit, and no other waits for that.
pytestmark = pytest.mark.xdist_group("fpu_misc")
SEED = 51
CONFIG = replace(TINY, threads=1)
SIGN = 0x8000_0000
CANONICAL_NAN = sf.Float32.from_bytes(b"\x7f\xc0\0\0")


def _minimum(a: sf.Float32, b: sf.Float32, less: Callable = sf.f32_lt_quiet) -> sf.Float32:
    """RISC-V's fmin, or fmax with ``less`` the other way round; quiet comparisons raise NV for signalling NaNs only."""
    a_is_less, b_is_less = less(a, b), less(b, a)
    if sf.f32_is_nan(a):
        return CANONICAL_NAN if sf.f32_is_nan(b) else b
    if sf.f32_is_nan(b) or a_is_less:
        return a
    if b_is_less:
        return b
    # Equal: the same, or zeros of both signs.
    negative_first = sorted([a, b], key=lambda x: math.copysign(1, x.to_float()))
    return negative_first[0 if less is sf.f32_lt_quiet else 1]


def _maximum(a: sf.Float32, b: sf.Float32) -> sf.Float32:
    return _minimum(a, b, lambda x, y: sf.f32_lt_quiet(y, x))


def _class_bit(x: sf.Float32) -> int:
    """RISC-V's table of fclass."""
    if sf.f32_is_nan(x):
        return 1 << (8 if sf.f32_is_signaling_nan(x) else 9)
    value = x.to_float()
    rank = (value != 0) + (abs(value) >= 2.0**-126) + (abs(value) == math.inf)
    return 1 << (3 - rank if math.copysign(1, value) < 0 else 4 + rank)


#: Reference, and the flags that the operands raise.
SOFTFLOAT = {
    FmiscOp.FMIN: (_minimum, NV), FmiscOp.FMAX: (_maximum, NV), FmiscOp.FEQ: (sf.f32_eq, NV),
    FmiscOp.FLT: (sf.f32_lt, NV), FmiscOp.FLE: (sf.f32_le, NV), FmiscOp.FCLASS: (lambda a, b: _class_bit(a), 0),
}
BITWISE: dict[FmiscOp, Callable[[U32, U32], U32]] = {
    FmiscOp.FSGNJ: lambda a, b: a & ~np.uint32(SIGN) | b & SIGN,
    FmiscOp.FSGNJN: lambda a, b: a & ~np.uint32(SIGN) | ~b & SIGN, FmiscOp.FSGNJX: lambda a, b: a ^ b & SIGN,
    FmiscOp.FMV_X_W: lambda a, b: a, FmiscOp.FMV_W_X: lambda a, b: a,
}


def expected(op: FmiscOp, a: U32, b: U32) -> tuple[U32, U32]:
    """Results and flags."""
    if op in BITWISE:
        return BITWISE[op](a, b), np.zeros_like(a)
    return softfloat(SOFTFLOAT[op][0], (a, b), 0)


@functools.cache
def batch() -> UnitBatch:
    return UnitBatch(FmiscUnit(CONFIG), inputs=("op", "mask", "rm", "a", "b"), outputs=("result", "flags"))


@pytest.mark.more
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("op", FmiscOp)
def test_operation(op, count):
    """The rounding mode is anything, and counts for nothing (it is another part of the operation in the encoding)."""
    rng = np.random.default_rng([SEED, op.value])
    a, b = binary(rng, count)
    rm = rng.integers(0, 8, a.size, dtype=np.uint32)
    actual = batch().run(latency=CONFIG.latency_fmisc, op=op.value, mask=1, rm=rm, a=a, b=b)
    reach = SOFTFLOAT[op][1] if op in SOFTFLOAT else 0
    assert_same(actual, expected(op, a, b), (a, b), label=f"{op.name}, seed {SEED}", reach=reach)
    if op == FmiscOp.FCLASS:
        assert set(actual[0].tolist()) == {1 << k for k in range(10)}


CONFIGS = [TINY, replace(TINY, threads=4), replace(TINY, threads=4, latency_fmisc=3),
           replace(TINY, threads=1, latency_fmisc=8)]


UNIT = FloatBench(make=FmiscUnit, ops=FmiscOp, latency="latency_fmisc",
                  reference=lambda op, operands, rm: expected(op, *operands))
label = UNIT.label


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but(CONFIGS, CONFIGS[1:2]), ids=label)
@pytest.mark.parametrize("gap", [0, 6], ids=["full_throughput", "gaps"])
def test_unit(config, gap):
    UNIT.check_random(config, 200, gap)


@pytest.mark.parametrize("age", some_slow(range(1, 5), 2))
def test_reset_empties_the_pipeline(age):
    """An operation that is ``age`` cycles old at the reset completes only if it is due by then."""
    ones, twos, nans = (0x3F80_0000,) * 4, (0x4000_0000,) * 4, (0x7F80_0001,) * 4
    UNIT.check(replace(TINY, threads=4, latency_fmisc=4), {
        0: Operation(FmiscOp.FMIN, 15, (ones, twos)),
        10: Operation(FmiscOp.FMAX, 15, (nans, twos)),
        11 + age: Operation(FmiscOp.FLE, 5, (ones, nans)),
    }, seed=age, reset_at=10 + age)


def test_an_idle_lane_holds_still(tmp_path):
    check_idle_lane(UNIT, TINY, tmp_path, SEED, wired=())
