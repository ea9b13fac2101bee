"""The speed measurement: its program is what it says, and it refuses a wrong result (no speed is asserted)."""

import pytest

from metronome.hdl.config import SmConfig
from metronome.sim.machine.golden import bench
from metronome.sim.machine.golden.bench import PROGRAM, measure
from metronome.sim.program.assembler import asm

R = asm.REGISTERS


def assemble():
    """The program of sim.machine.golden.bench, which may not import the assembler."""
    gp, a0, a1, a2, a3, a4, a5, a6, a7 = (R[name] for name in "gp a0 a1 a2 a3 a4 a5 a6 a7".split())
    t0, t1, t2, t3 = (R[name] for name in "t0 t1 t2 t3".split())
    p = asm.Program()
    p.add(
        asm.csrr(gp, 0xFC1), asm.auipc(t0, 0), asm.addi(t0, t0, 12), asm.wspawn(gp, t0), asm.addi(gp, 0, -1),
        asm.tmc(gp), asm.csrr(t0, 0xF14), asm.csrr(a0, 0x340), asm.csrr(a1, 0xFC0), asm.csrr(a2, 0xFC1),
        asm.mul(a1, a1, a2), asm.slli(a1, a1, 2), asm.add(a1, a1, a0), asm.slli(a2, t0, 2), asm.add(a2, a2, a0),
        asm.lw(a2, 0, a2), asm.addi(a3, 0, 0), asm.addi(t1, 0, 0),
    )  # fmt: skip
    p.label("loop")
    p.add(
        asm.lw(a4, 0, a0), asm.slt(a5, a4, a2), asm.xor(a6, a4, a2), asm.sltiu(a6, a6, 1), asm.sltu(a7, t1, t0),
        asm.and_(a6, a6, a7), asm.or_(a5, a5, a6), asm.add(a3, a3, a5), asm.addi(t1, t1, 1), asm.addi(a0, a0, 4),
    )  # fmt: skip
    p.branch(asm.bne, a0, a1, "loop")
    p.add(asm.slli(t2, a3, 2), asm.add(t3, a1, t2), asm.sw(a2, 0, t3), asm.tmc(0))
    return p


def test_the_program_is_its_text():
    # The address of the worker is the instruction after the wspawn: auipc + 12.
    assert [word for word, _ in PROGRAM] == assemble().words()


@pytest.mark.parametrize("warps, threads", [(1, 1), (3, 4)])
def test_measure_runs(warps, threads):
    assert measure(SmConfig(warps=warps, threads=threads)) > 0


def test_a_wrong_result_is_refused(monkeypatch):
    words = [(asm.sltu(15, 14, 12) if text == "slt a5, a4, a2" else word, text) for word, text in PROGRAM]
    monkeypatch.setattr(bench, "PROGRAM", tuple(words))
    with pytest.raises(RuntimeError, match="wrong result"):
        measure(SmConfig(warps=2, threads=4))

