"""The operations that the decoder hands to the units: one enum a unit.

The encodings are our own (they travel only inside the SM), except :class:`LsuOp` and :class:`CsrOp`, whose low bits are
RISC-V's ``funct3``.
"""

from __future__ import annotations

from amaranth.lib import enum

__all__ = [
    "FLOAT_UNITS",
    "OP_BITS",
    "ROUNDED_UNITS",
    "STORE_BIT",
    "AluOp",
    "BranchOp",
    "CsrOp",
    "DivOp",
    "FcvtOp",
    "FdivOp",
    "FmaOp",
    "FmiscOp",
    "LsuOp",
    "MulOp",
    "SimtOp",
    "SystemOp",
    "Unit",
]

#: Bits of the ``op`` field: the widest enum below.
OP_BITS = 5

#: The bit of an :class:`LsuOp` that marks a store.
STORE_BIT = 8


class Unit(enum.Enum, shape=4):
    """The unit that executes an instruction."""

    ALU = 0
    BRANCH = 1
    MUL = 2
    DIV = 3
    LSU = 4
    CSR = 5
    SIMT = 6
    SYSTEM = 7
    FMA = 8
    FCVT = 9
    FDIV = 10
    FMISC = 11


#: The units of the FPU. Their instructions raise flags, and so take a writeback slot even if rd is x0.
FLOAT_UNITS = (Unit.FMA, Unit.FCVT, Unit.FDIV, Unit.FMISC)
#: Those of them that share the normalisation and rounding, and have one result.
ROUNDED_UNITS = (Unit.FMA, Unit.FCVT, Unit.FDIV)


class AluOp(enum.Enum, shape=OP_BITS):
    """``lui`` and ``auipc`` are ADD: a is 0 (no rs1) or the pc, b the immediate."""

    ADD = 0
    SUB = 1
    SLL = 2
    SLT = 3
    SLTU = 4
    XOR = 5
    SRL = 6
    SRA = 7
    OR = 8
    AND = 9
    CZERO_EQZ = 10
    CZERO_NEZ = 11


class BranchOp(enum.Enum, shape=OP_BITS):
    """``jal`` and ``jalr`` also write pc + 4."""

    EQ = 0
    NE = 1
    LT = 2
    GE = 3
    LTU = 4
    GEU = 5
    JAL = 6
    JALR = 7


class MulOp(enum.Enum, shape=OP_BITS):
    """RV32M multiplications."""

    MUL = 0
    MULH = 1
    MULHSU = 2
    MULHU = 3


class DivOp(enum.Enum, shape=OP_BITS):
    """RV32M divisions."""

    DIV = 0
    DIVU = 1
    REM = 2
    REMU = 3


class LsuOp(enum.Enum, shape=OP_BITS):
    """Bits 2..0 are ``funct3`` (1..0 the size as a power of two, 2 zero extension), bit 3 marks a store."""

    LB = 0
    LH = 1
    LW = 2
    LBU = 4
    LHU = 5
    SB = 8
    SH = 9
    SW = 10


class CsrOp(enum.Enum, shape=OP_BITS):
    """Low bits of ``funct3``; ``use_imm`` marks the immediate form."""

    RW = 1
    RS = 2
    RC = 3


class SimtOp(enum.Enum, shape=OP_BITS):
    """``funct3`` of the SIMT extension (isa.md)."""

    TMC = 0
    WSPAWN = 1
    SPLIT = 2
    JOIN = 3
    BAR = 4
    PRED = 5


class SystemOp(enum.Enum, shape=OP_BITS):
    """Operations without a unit: faults at issue, fences, mret."""

    ILLEGAL = 0
    ECALL = 1
    EBREAK = 2
    FETCH_FAULT = 3
    MRET = 4
    FENCE = 5
    FENCE_I = 6


class FmaOp(enum.Enum, shape=OP_BITS):
    """RV32F additions and multiplications: a * b + c with signs, or with a factor or an addend left out."""

    FMADD = 0
    FMSUB = 1
    FNMSUB = 2
    FNMADD = 3
    FADD = 4
    FSUB = 5
    FMUL = 6


class FcvtOp(enum.Enum, shape=OP_BITS):
    """``fcvt.<to>.<from>``. Bit 0: the integer is unsigned; bit 1: it is the source."""

    W_S = 0
    WU_S = 1
    S_W = 2
    S_WU = 3


class FdivOp(enum.Enum, shape=OP_BITS):
    """Operations of many steps: division and square root."""

    FDIV = 0
    FSQRT = 1


class FmiscOp(enum.Enum, shape=OP_BITS):
    """Operations without rounding."""

    FSGNJ = 0
    FSGNJN = 1
    FSGNJX = 2
    FMIN = 3
    FMAX = 4
    FEQ = 5
    FLT = 6
    FLE = 7
    FCLASS = 8
    FMV_X_W = 9
    FMV_W_X = 10
