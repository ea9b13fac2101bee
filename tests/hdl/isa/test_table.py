"""The decode table as data: what must hold between its rows, and the numbers that software sees."""

from itertools import combinations

import pytest

from metronome.hdl.isa import csrs, ops
from metronome.hdl.isa.table import INSTRUCTIONS, ImmFormat, RegFile

UNIT_OPS = {
    ops.Unit.ALU: ops.AluOp, ops.Unit.BRANCH: ops.BranchOp, ops.Unit.MUL: ops.MulOp, ops.Unit.DIV: ops.DivOp,
    ops.Unit.LSU: ops.LsuOp, ops.Unit.CSR: ops.CsrOp, ops.Unit.SIMT: ops.SimtOp, ops.Unit.SYSTEM: ops.SystemOp,
    ops.Unit.FMA: ops.FmaOp, ops.Unit.FCVT: ops.FcvtOp, ops.Unit.FDIV: ops.FdivOp, ops.Unit.FMISC: ops.FmiscOp,
}


def test_mnemonics_are_unique():
    assert len({row.mnemonic for row in INSTRUCTIONS}) == len(INSTRUCTIONS)


def test_rows_exclude_each_other():
    for one, other in combinations(INSTRUCTIONS, 2):
        assert (one.match ^ other.match) & one.mask & other.mask, f"{one.mnemonic} and {other.mnemonic} share a word"


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=lambda row: row.mnemonic)
def test_row_is_consistent(row):
    assert row.match & ~row.mask == 0, "a match bit that the mask leaves out never counts"
    opcode = 0x7E if row.imm is ImmFormat.B else 0x7F  # bit 0 of a branch is its hint
    assert row.mask & 0x7F == opcode, "every instruction has a full opcode"
    assert isinstance(row.op, UNIT_OPS[row.unit])
    assert row.match != 0, "the decoder relies on the all-zero word being illegal"
    # Fields that hold an operand are not part of the pattern.
    for used, field in ((row.rd, 0xF80), (row.rs1, 0xF8000), (row.rs2, 0x1F00000), (row.rs3, 0xF8000000)):
        assert used is None or row.mask & field == 0
    if RegFile.FP in (row.rd, row.rs1, row.rs2, row.rs3):
        assert row.fp
    if row.use_pc:
        assert row.rs1 is None
    if row.use_imm:
        assert row.imm is not ImmFormat.NONE and row.rs2 is None


def test_every_op_has_a_row():
    """The two ops that no word decodes to are what the decoder itself makes."""
    rows = {row.op for row in INSTRUCTIONS}
    missing = {op for enum in UNIT_OPS.values() for op in enum} - rows
    assert missing == {ops.SystemOp.ILLEGAL, ops.SystemOp.FETCH_FAULT}


def test_control_and_fence_rows():
    control = {row.mnemonic for row in INSTRUCTIONS if row.control}
    assert control == {"jal", "jalr", "beq", "bne", "blt", "bge", "bltu", "bgeu", "fence.i",
                       "tmc", "wspawn", "split", "join", "bar", "pred"}
    assert {row.mnemonic for row in INSTRUCTIONS if row.fence} == {"fence", "fence.i"}


def test_csr_sets():
    numbers = [int(number) for number in csrs.Csr]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < 1 << 12 for number in numbers)
    assert {1, 2, 3} == csrs.FLOAT_CSRS
    assert not csrs.ZERO_CSRS & csrs.PERFORMANCE_CSRS
