"""The batch driver and the comparison, on units whose results need no thought."""

from dataclasses import replace

import numpy as np
import pytest
import softfloatpy as sf

from metronome.hdl.execute.div import DivUnit
from metronome.hdl.execute.mul import MulUnit
from metronome.hdl.isa.ops import DivOp, MulOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.fpu.fpu_batch import UnitBatch
from tests.hdl.execute.fpu.fpu_operands import NV, NX, OF, assert_same, binary, softfloat, ternary, unary

SEED = 33
CONFIG = replace(TINY, threads=1)
PORTS = {"inputs": ("op", "mask", "a", "b"), "outputs": ("result",)}


@pytest.mark.more
def test_a_pipelined_unit_gets_an_operation_each_cycle():
    a, b = np.random.default_rng(SEED).integers(0, 1 << 32, (2, 1000), dtype=np.uint32)
    batch = UnitBatch(MulUnit(CONFIG), **PORTS)
    assert np.array_equal(batch.run(latency=4, op=MulOp.MUL.value, mask=1, a=a, b=b)[0], a * b)
    early, late = (batch.run(latency=latency, op=MulOp.MUL.value, mask=1, a=a, b=b)[0] for latency in (3, 5))
    assert np.array_equal(early[1:], (a * b)[:-1]) and np.array_equal(late[:-1], (a * b)[1:])


@pytest.mark.more
def test_a_unit_that_is_not_pipelined_gets_one_each_interval():
    a, b = np.random.default_rng(SEED).integers(1, 1 << 32, (2, 200), dtype=np.uint32)
    batch = UnitBatch(DivUnit(CONFIG), **PORTS)
    ops = np.resize(np.array([DivOp.DIVU.value, DivOp.REMU.value], np.uint32), a.size)
    expected = np.where(ops == DivOp.DIVU.value, a // b, a % b)
    assert np.array_equal(batch.run(latency=34, interval=34, op=ops, mask=1, a=a, b=b)[0], expected)


@pytest.mark.parametrize(("draw", "operation", "reach"), [
    (unary, lambda a: sf.f32_add(a, a), NX | OF | NV), (binary, sf.f32_add, NX | OF | NV),
    (ternary, sf.f32_mul_add, 0b10111),
])
def test_a_wrong_bit_or_flag_is_seen(draw, operation, reach):
    operands = draw(np.random.default_rng(SEED), 1000)
    expected = softfloat(operation, operands, 0)
    assert_same(expected, expected, operands, label="itself", reach=reach)
    for part in (0, 1):
        actual = [array.copy() for array in expected]
        actual[part][77] ^= 1
        with pytest.raises(AssertionError, match=r"^broken: 1 of "):
            assert_same(actual, expected, operands, label="broken", reach=reach)
    with pytest.raises(AssertionError, match=r"the operands raise"):
        assert_same(expected, expected, operands, label="weak", reach=31)
