"""The ALU against arithmetic on Python integers."""

from dataclasses import replace

import pytest

from metronome.hdl.execute.alu import AluUnit
from metronome.hdl.isa.ops import AluOp
from metronome.hdl.presets import TINY
from tests.hdl.execute.lane_harness import MASK32, Operation, UnitBench, edge_operations, signed
from tests.support.tiers import some_more

CONFIGS = [TINY, replace(TINY, threads=4)]


def reference(op: AluOp, a: int, b: int) -> int:
    """RISC-V unprivileged manual, "Integer Computational Instructions", and Zicond."""
    shift = b % 32
    return {
        AluOp.ADD: a + b, AluOp.SUB: a - b, AluOp.SLL: a << shift, AluOp.SLT: int(signed(a) < signed(b)),
        AluOp.SLTU: int(a < b), AluOp.XOR: a ^ b, AluOp.SRL: a >> shift, AluOp.SRA: signed(a) >> shift,
        AluOp.OR: a | b, AluOp.AND: a & b, AluOp.CZERO_EQZ: 0 if b == 0 else a, AluOp.CZERO_NEZ: 0 if b != 0 else a,
    }[op] & MASK32


UNIT = UnitBench(make=AluUnit, ops=AluOp, latency="latency_alu", reference=reference)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.threads}_threads")
@pytest.mark.parametrize("gap", [0, 3], ids=["full_throughput", "gaps"])
def test_random(config, gap):
    UNIT.check_random(config, 300, gap)


@pytest.mark.slow
@pytest.mark.parametrize("op", some_more(AluOp, 4))
def test_edges(op):
    UNIT.check_all(CONFIGS[1], edge_operations([op], 4), seed=2)


def test_every_shift_amount():
    values = (0x8000_0001, 0x7FFF_FFFE, 0xDEAD_BEEF, 0x0000_0001)
    operations = [Operation(op, 15, (values, (amount | 0xFFFF_FFE0,) * 4))
                  for op in (AluOp.SLL, AluOp.SRL, AluOp.SRA) for amount in range(32)]
    UNIT.check_all(CONFIGS[1], operations, seed=3)
