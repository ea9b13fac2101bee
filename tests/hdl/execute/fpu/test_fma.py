"""The fused multiply-add unit against Berkeley SoftFloat."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import softfloatpy as sf

from metronome.hdl.isa.ops import FmaOp, Unit
from metronome.hdl.presets import TINY
from tests.hdl.execute.fpu.fpu_batch import UnitBatch
from tests.hdl.execute.fpu.fpu_operands import COUNTS, MODES, NV, NX, OF, UF, assert_same, binary, softfloat, ternary
from tests.hdl.execute.fpu.fpu_units import OneOf
from tests.support.tiers import some_slow

#: One process compiles the unit, and no other waits for that.
pytestmark = pytest.mark.xdist_group("fma")
SEED = 34
#: SoftFloat works on this many at a time.
PIECE = 100_000
ROUNDED = NX | UF | OF | NV
SIGN = 0x8000_0000


def negated(x: sf.Float32) -> sf.Float32:
    return sf.Float32.from_bytes((int.from_bytes(x.to_bytes(), "big") ^ SIGN).to_bytes(4, "big"))


#: What to compare with, the operands, and the flags that these must raise: an addition is exact where it is tiny.
REFERENCES = {
    FmaOp.FMADD: (sf.f32_mul_add, ternary, ROUNDED),
    FmaOp.FMSUB: (lambda a, b, c: sf.f32_mul_add(a, b, negated(c)), ternary, ROUNDED),
    FmaOp.FNMSUB: (lambda a, b, c: sf.f32_mul_add(negated(a), b, c), ternary, ROUNDED),
    FmaOp.FNMADD: (lambda a, b, c: sf.f32_mul_add(negated(a), b, negated(c)), ternary, ROUNDED),
    FmaOp.FADD: (sf.f32_add, binary, NX | OF | NV),
    FmaOp.FSUB: (sf.f32_sub, binary, NX | OF | NV),
    FmaOp.FMUL: (sf.f32_mul, binary, ROUNDED),
}


@functools.cache
def batch(latency: int) -> UnitBatch:
    unit = OneOf(replace(TINY, threads=1, latency_fma=latency), Unit.FMA)
    return UnitBatch(unit, inputs=("op", "rm", "mask", "a", "b", "c"), outputs=("result", "flags"))


def compare(op: FmaOp, mode: str, count: int, latency: int = 4) -> None:
    rm = MODES[mode]
    operation, draw, reach = REFERENCES[op]
    rng = np.random.default_rng([SEED, op.value, rm, count])
    unit = batch(latency)
    while count > 0:
        operands = draw(rng, min(count, PIECE))
        count -= PIECE
        # An addition and a multiplication have no third operand: whatever stands there.
        c = operands[2] if len(operands) == 3 else rng.permutation(operands[0])
        actual = unit.run(latency=latency, op=op.value, rm=rm, mask=1, a=operands[0], b=operands[1], c=c)
        assert_same(actual, softfloat(operation, operands, rm), operands, reach=reach,
                    label=f"{op.name} {mode} latency {latency} seed {SEED}")


@pytest.mark.more
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("mode", some_slow(MODES, 1))
@pytest.mark.parametrize("op", FmaOp)
def test_equals_softfloat(op, mode, count):
    compare(op, mode, count)


@pytest.mark.long
@pytest.mark.parametrize("latency", range(5, 9))
@pytest.mark.parametrize("mode", MODES)
def test_more_registers_change_no_result(latency, mode):
    """The fused operations use every step. Long for its four builds; test_fma_unit.py has a few operands of each."""
    compare(FmaOp.FNMADD, mode, 20_000, latency)
