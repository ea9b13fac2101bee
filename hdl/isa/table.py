"""The decode table: every instruction of RV32IMF, Zicsr, Zifencei, Zicond and the SIMT extension, as data.

The hardware decoder (:mod:`hdl.frontend.decode`) is generated from :data:`INSTRUCTIONS`. Matching is strict: an
encoding that the RISC-V manual reserves is in no row, hence illegal. Where the manual tells implementations to ignore
fields (``fence``), and for the register fields that a SIMT instruction does not use, the bits are don't-cares.

Sources: RISC-V unprivileged manual, chapters RV32I, Zifencei, Zicsr, M, F, Zicond and the opcode tables; isa.md for
opcode 0x0B.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .ops import AluOp, BranchOp, CsrOp, DivOp, FcvtOp, FdivOp, FmaOp, FmiscOp, LsuOp, MulOp, SimtOp, SystemOp, Unit

__all__ = ["INSTRUCTIONS", "ImmFormat", "Instruction", "Op", "RegFile", "instructions"]

FloatOp = FmaOp | FcvtOp | FdivOp | FmiscOp
Op = AluOp | BranchOp | CsrOp | DivOp | LsuOp | MulOp | SimtOp | SystemOp | FloatOp

_FLOAT_UNITS: dict[type, Unit] = {FmaOp: Unit.FMA, FcvtOp: Unit.FCVT, FdivOp: Unit.FDIV, FmiscOp: Unit.FMISC}


class RegFile(enum.Enum):
    """The register file of an operand; the value is bit 5 of the 6-bit register number."""

    INT = 0
    FP = 1


class ImmFormat(enum.Enum):
    """The value that the decoder puts into ``imm``."""

    #: No immediate: zero.
    NONE = enum.auto()
    #: The sign-extended formats of the manual. Shift immediates are I: the amount is in bits 4..0.
    I = enum.auto()  # noqa: E741 - the manual's name
    S = enum.auto()
    B = enum.auto()
    U = enum.auto()
    J = enum.auto()
    #: CSR number in 11..0, the rs1 field (register number or 5-bit immediate) in 16..12.
    CSR = enum.auto()
    #: Bit 0 is bit 0 of the rs2 field (split).
    NEGATE_RS2 = enum.auto()
    #: Bit 0 is bit 0 of the rd field (pred).
    NEGATE_RD = enum.auto()


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One row: a word ``w`` is this instruction iff ``w & mask == match``; no word matches two rows.

    ``rd``, ``rs1``, ``rs2``, ``rs3`` name the register file of the operand, or are None if the instruction has none.
    The operands a and b of the units:

    - ALU, MUL, DIV: a is rs1 (``use_pc``: the pc), b is rs2 (``use_imm``: the immediate).
    - BRANCH: a, b are rs1, rs2 of a conditional branch, whose target is pc + imm; ``jal`` and ``jalr`` go to a + b.
    - LSU: a is the base, imm the offset, b the store data. A store's rs2 may be a floating-point register.
    - CSR: a is rs1, or the rs1 field is the operand itself (``use_imm``).
    - SIMT: a, b are rs1, rs2.
    - FMA, FCVT, FDIV, FMISC: a, b, c are rs1, rs2, rs3; an addition has its addend in b.
    """

    mnemonic: str  # the manual's, or isa.md's
    mask: int  # the bits that tell it from others
    match: int  # their values
    unit: Unit  # the unit that executes it
    op: Op  # the operation of that unit
    rd: RegFile | None = None  # where its destination is
    rs1: RegFile | None = None  # where its sources are
    rs2: RegFile | None = None  # as rs1
    rs3: RegFile | None = None  # as rs1
    imm: ImmFormat = ImmFormat.NONE  # the format of its immediate
    use_imm: bool = False  # the second operand is the immediate
    use_pc: bool = False  # the first operand is the pc
    control: bool = False  # the warp is not eligible again until this instruction has resolved
    fence: bool = False  # waits until the warp's stores have completed
    rm: bool = False  # bits 14..12 are a rounding mode
    fp: bool = False  # belongs to F


_OPCODE, _FUNCT3, _FUNCT7, _RS2 = 0x0000_007F, 0x0000_7000, 0xFE00_0000, 0x01F0_0000
_EXACT = 0xFFFF_FFFF
_X, _F = RegFile.INT, RegFile.FP


def _match(opcode: int, funct3: int = 0, funct7: int = 0, rs2: int = 0) -> int:
    return opcode | funct3 << 12 | funct7 << 25 | rs2 << 20


def _upper(mnemonic: str, opcode: int, *, use_pc: bool) -> Instruction:
    return Instruction(mnemonic=mnemonic, mask=_OPCODE, match=opcode, unit=Unit.ALU, op=AluOp.ADD,
                       rd=_X, imm=ImmFormat.U, use_imm=True, use_pc=use_pc)


def _alu_imm(mnemonic: str, funct3: int, op: AluOp, funct7: int | None = None) -> Instruction:
    """An OP-IMM instruction; a shift if ``funct7`` is given."""
    return Instruction(mnemonic=mnemonic, mask=_OPCODE | _FUNCT3 | (0 if funct7 is None else _FUNCT7),
                       match=_match(0x13, funct3, funct7 or 0), unit=Unit.ALU, op=op,
                       rd=_X, rs1=_X, imm=ImmFormat.I, use_imm=True)


def _op(mnemonic: str, funct3: int, funct7: int, unit: Unit, op: Op) -> Instruction:
    return Instruction(mnemonic=mnemonic, mask=_OPCODE | _FUNCT3 | _FUNCT7, match=_match(0x33, funct3, funct7),
                       unit=unit, op=op, rd=_X, rs1=_X, rs2=_X)


def _branch(mnemonic: str, funct3: int, op: BranchOp) -> Instruction:
    # Bit 0 is the hint of the branch (isa.md, "Hints").
    return Instruction(mnemonic=mnemonic, mask=_OPCODE & ~1 | _FUNCT3, match=_match(0x62, funct3), unit=Unit.BRANCH,
                       op=op, rs1=_X, rs2=_X, imm=ImmFormat.B, control=True)


def _load(mnemonic: str, op: LsuOp, *, fp: bool = False) -> Instruction:
    return Instruction(mnemonic=mnemonic, mask=_OPCODE | _FUNCT3, match=_match(0x07 if fp else 0x03, op.value & 7),
                       unit=Unit.LSU, op=op, rd=_F if fp else _X, rs1=_X, imm=ImmFormat.I, fp=fp)


def _store(mnemonic: str, op: LsuOp, *, fp: bool = False) -> Instruction:
    return Instruction(mnemonic=mnemonic, mask=_OPCODE | _FUNCT3, match=_match(0x27 if fp else 0x23, op.value & 7),
                       unit=Unit.LSU, op=op, rs1=_X, rs2=_F if fp else _X, imm=ImmFormat.S, fp=fp)


def _csr(mnemonic: str, op: CsrOp, *, use_imm: bool = False) -> Instruction:
    return Instruction(mnemonic=mnemonic, mask=_OPCODE | _FUNCT3, match=_match(0x73, op.value | use_imm << 2),
                       unit=Unit.CSR, op=op, rd=_X, rs1=None if use_imm else _X, imm=ImmFormat.CSR, use_imm=use_imm)


def _system(mnemonic: str, mask: int, match: int, op: SystemOp, *, control: bool = False,
            fence: bool = False) -> Instruction:
    return Instruction(mnemonic=mnemonic, mask=mask, match=match, unit=Unit.SYSTEM, op=op, control=control, fence=fence)


def _simt(mnemonic: str, op: SimtOp, *, rd: RegFile | None = None, rs2: RegFile | None = None,
          imm: ImmFormat = ImmFormat.NONE) -> Instruction:
    return Instruction(mnemonic=mnemonic, mask=_OPCODE | _FUNCT3 | _FUNCT7, match=_match(0x0B, op.value),
                       unit=Unit.SIMT, op=op, rd=rd, rs1=_X, rs2=rs2, imm=imm, control=True)


def _fused(mnemonic: str, opcode: int, op: FmaOp) -> Instruction:
    """An R4 instruction; bits 26..25 are the format, 0 for single precision."""
    return Instruction(mnemonic=mnemonic, mask=_OPCODE | 0x0600_0000, match=_match(opcode), unit=Unit.FMA, op=op,
                       rd=_F, rs1=_F, rs2=_F, rs3=_F, rm=True, fp=True)


def _float(mnemonic: str, funct7: int, op: FloatOp, *, funct3: int | None = None, rs2_field: int | None = None,
           rd: RegFile = _F, rs1: RegFile = _F) -> Instruction:
    """An OP-FP instruction: without ``funct3`` it has a rounding mode there, with ``rs2_field`` no second operand."""
    mask = _OPCODE | _FUNCT7 | (0 if funct3 is None else _FUNCT3) | (0 if rs2_field is None else _RS2)
    return Instruction(mnemonic=mnemonic, mask=mask, match=_match(0x53, funct3 or 0, funct7, rs2_field or 0),
                       unit=_FLOAT_UNITS[type(op)], op=op, rd=rd, rs1=rs1, rs2=_F if rs2_field is None else None,
                       rm=funct3 is None, fp=True)


_RV32I = (
    _upper("lui", 0x37, use_pc=False),
    _upper("auipc", 0x17, use_pc=True),
    Instruction(mnemonic="jal", mask=_OPCODE, match=0x6F, unit=Unit.BRANCH, op=BranchOp.JAL,
                rd=_X, imm=ImmFormat.J, use_imm=True, use_pc=True, control=True),
    Instruction(mnemonic="jalr", mask=_OPCODE | _FUNCT3, match=0x67, unit=Unit.BRANCH, op=BranchOp.JALR,
                rd=_X, rs1=_X, imm=ImmFormat.I, use_imm=True, control=True),
    _branch("beq", 0, BranchOp.EQ),
    _branch("bne", 1, BranchOp.NE),
    _branch("blt", 4, BranchOp.LT),
    _branch("bge", 5, BranchOp.GE),
    _branch("bltu", 6, BranchOp.LTU),
    _branch("bgeu", 7, BranchOp.GEU),
    _load("lb", LsuOp.LB),
    _load("lh", LsuOp.LH),
    _load("lw", LsuOp.LW),
    _load("lbu", LsuOp.LBU),
    _load("lhu", LsuOp.LHU),
    _store("sb", LsuOp.SB),
    _store("sh", LsuOp.SH),
    _store("sw", LsuOp.SW),
    _alu_imm("addi", 0, AluOp.ADD),
    _alu_imm("slti", 2, AluOp.SLT),
    _alu_imm("sltiu", 3, AluOp.SLTU),
    _alu_imm("xori", 4, AluOp.XOR),
    _alu_imm("ori", 6, AluOp.OR),
    _alu_imm("andi", 7, AluOp.AND),
    _alu_imm("slli", 1, AluOp.SLL, 0x00),
    _alu_imm("srli", 5, AluOp.SRL, 0x00),
    _alu_imm("srai", 5, AluOp.SRA, 0x20),
    _op("add", 0, 0x00, Unit.ALU, AluOp.ADD),
    _op("sub", 0, 0x20, Unit.ALU, AluOp.SUB),
    _op("sll", 1, 0x00, Unit.ALU, AluOp.SLL),
    _op("slt", 2, 0x00, Unit.ALU, AluOp.SLT),
    _op("sltu", 3, 0x00, Unit.ALU, AluOp.SLTU),
    _op("xor", 4, 0x00, Unit.ALU, AluOp.XOR),
    _op("srl", 5, 0x00, Unit.ALU, AluOp.SRL),
    _op("sra", 5, 0x20, Unit.ALU, AluOp.SRA),
    _op("or", 6, 0x00, Unit.ALU, AluOp.OR),
    _op("and", 7, 0x00, Unit.ALU, AluOp.AND),
    _system("fence", _OPCODE | _FUNCT3, _match(0x0F, 0), SystemOp.FENCE, fence=True),
    _system("ecall", _EXACT, 0x0000_0073, SystemOp.ECALL),
    _system("ebreak", _EXACT, 0x0010_0073, SystemOp.EBREAK),
    _system("mret", _EXACT, 0x3020_0073, SystemOp.MRET),
)

_ZIFENCEI = (
    _system("fence.i", _OPCODE | _FUNCT3, _match(0x0F, 1), SystemOp.FENCE_I, control=True, fence=True),
)

_ZICSR = (
    _csr("csrrw", CsrOp.RW),
    _csr("csrrs", CsrOp.RS),
    _csr("csrrc", CsrOp.RC),
    _csr("csrrwi", CsrOp.RW, use_imm=True),
    _csr("csrrsi", CsrOp.RS, use_imm=True),
    _csr("csrrci", CsrOp.RC, use_imm=True),
)

_RV32M = (
    _op("mul", 0, 0x01, Unit.MUL, MulOp.MUL),
    _op("mulh", 1, 0x01, Unit.MUL, MulOp.MULH),
    _op("mulhsu", 2, 0x01, Unit.MUL, MulOp.MULHSU),
    _op("mulhu", 3, 0x01, Unit.MUL, MulOp.MULHU),
    _op("div", 4, 0x01, Unit.DIV, DivOp.DIV),
    _op("divu", 5, 0x01, Unit.DIV, DivOp.DIVU),
    _op("rem", 6, 0x01, Unit.DIV, DivOp.REM),
    _op("remu", 7, 0x01, Unit.DIV, DivOp.REMU),
)

_ZICOND = (
    _op("czero.eqz", 5, 0x07, Unit.ALU, AluOp.CZERO_EQZ),
    _op("czero.nez", 7, 0x07, Unit.ALU, AluOp.CZERO_NEZ),
)

_SIMT = (
    _simt("tmc", SimtOp.TMC),
    _simt("wspawn", SimtOp.WSPAWN, rs2=_X),
    _simt("split", SimtOp.SPLIT, rd=_X, imm=ImmFormat.NEGATE_RS2),
    _simt("join", SimtOp.JOIN),
    _simt("bar", SimtOp.BAR, rs2=_X),
    _simt("pred", SimtOp.PRED, rs2=_X, imm=ImmFormat.NEGATE_RD),
)

_RV32F = (
    _load("flw", LsuOp.LW, fp=True),
    _store("fsw", LsuOp.SW, fp=True),
    _fused("fmadd.s", 0x43, FmaOp.FMADD),
    _fused("fmsub.s", 0x47, FmaOp.FMSUB),
    _fused("fnmsub.s", 0x4B, FmaOp.FNMSUB),
    _fused("fnmadd.s", 0x4F, FmaOp.FNMADD),
    _float("fadd.s", 0x00, FmaOp.FADD),
    _float("fsub.s", 0x04, FmaOp.FSUB),
    _float("fmul.s", 0x08, FmaOp.FMUL),
    _float("fdiv.s", 0x0C, FdivOp.FDIV),
    _float("fsqrt.s", 0x2C, FdivOp.FSQRT, rs2_field=0),
    _float("fsgnj.s", 0x10, FmiscOp.FSGNJ, funct3=0),
    _float("fsgnjn.s", 0x10, FmiscOp.FSGNJN, funct3=1),
    _float("fsgnjx.s", 0x10, FmiscOp.FSGNJX, funct3=2),
    _float("fmin.s", 0x14, FmiscOp.FMIN, funct3=0),
    _float("fmax.s", 0x14, FmiscOp.FMAX, funct3=1),
    _float("fcvt.w.s", 0x60, FcvtOp.W_S, rs2_field=0, rd=_X),
    _float("fcvt.wu.s", 0x60, FcvtOp.WU_S, rs2_field=1, rd=_X),
    _float("fmv.x.w", 0x70, FmiscOp.FMV_X_W, funct3=0, rs2_field=0, rd=_X),
    _float("feq.s", 0x50, FmiscOp.FEQ, funct3=2, rd=_X),
    _float("flt.s", 0x50, FmiscOp.FLT, funct3=1, rd=_X),
    _float("fle.s", 0x50, FmiscOp.FLE, funct3=0, rd=_X),
    _float("fclass.s", 0x70, FmiscOp.FCLASS, funct3=1, rs2_field=0, rd=_X),
    _float("fcvt.s.w", 0x68, FcvtOp.S_W, rs2_field=0, rs1=_X),
    _float("fcvt.s.wu", 0x68, FcvtOp.S_WU, rs2_field=1, rs1=_X),
    _float("fmv.w.x", 0x78, FmiscOp.FMV_W_X, funct3=0, rs2_field=0, rs1=_X),
)

#: Every instruction of the SM.
INSTRUCTIONS: tuple[Instruction, ...] = _RV32I + _ZIFENCEI + _ZICSR + _RV32M + _ZICOND + _SIMT + _RV32F
_WITHOUT_FPU = tuple(row for row in INSTRUCTIONS if not row.fp)


def instructions(fpu: bool) -> tuple[Instruction, ...]:
    """Every instruction of an SM with or without an FPU."""
    return INSTRUCTIONS if fpu else _WITHOUT_FPU
