"""Operand sources and uses of an instruction, as the memory checker follows values."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from ...machine.golden.decode import Instruction
from .rules import MOVES, RULES, Rule

__all__ = ["Plan", "Use", "plan_of"]

_FP = 32
_LOAD, _FLOAT_LOAD, _STORE, _FLOAT_STORE = 0x03, 0x07, 0x23, 0x27
_BRANCH, _HINTED_BRANCH, _JALR, _SYSTEM, _SIMT = 0x63, 0x62, 0x67, 0x73, 0x0B
_IMMEDIATE, _REGISTER, _FLOAT = 0x13, 0x33, 0x53
_FUSED = frozenset((0x43, 0x47, 0x4B, 0x4F))
_FROM_INTEGER = frozenset(("fcvt.s.w", "fcvt.s.wu", "fmv.w.x"))
_ONE_OPERAND = frozenset(("fsqrt.s", "fcvt.w.s", "fcvt.wu.s", "fmv.x.w", "fclass.s")) | _FROM_INTEGER
_SIGNED_LOADS = {0: np.int8, 1: np.int16}


class Use(enum.Enum):
    """How an instruction uses its operands."""

    NOTHING = enum.auto()
    RESULT = enum.auto()
    LOAD = enum.auto()
    STORE = enum.auto()
    BRANCH = enum.auto()
    JUMP = enum.auto()
    CSR = enum.auto()
    SIMT = enum.auto()


@dataclass(frozen=True, slots=True)
class Plan:
    """One instruction word.

    ``sources``: registers 0 to 63 in operand order, ``read`` the same as a bit mask; a store's data is the second.
    ``touched``: those and ``rd``. ``immediate`` replaces the second operand. ``rule``: for two operands; None: the
    whole result is undefined if any operand is. ``moves``: the result consists of an operand's bits; ``copies``: of all
    its bits, in place. ``signed``: the type by which a load extends its value by the sign.
    """

    word: int
    name: str
    use: Use
    sources: tuple[int, ...]
    read: int
    touched: int
    rd: int | None
    immediate: np.ndarray | None = None
    rule: Rule | None = None
    moves: bool = False
    copies: bool = False
    signed: type | None = None


def _operands(instruction: Instruction) -> tuple[Use, tuple[int, ...]]:
    """Return the use and the sources, including x0."""
    word, name = instruction.word, instruction.name
    rs1, rs2, rs3 = word >> 15 & 31, word >> 20 & 31, word >> 27
    opcode = word & 0x7F
    if opcode in _FUSED:
        return Use.RESULT, (_FP + rs1, _FP + rs2, _FP + rs3)
    if opcode == _FLOAT:
        first = rs1 if name in _FROM_INTEGER else _FP + rs1
        return Use.RESULT, (first,) if name in _ONE_OPERAND else (first, _FP + rs2)
    if opcode == _SYSTEM:
        from_register = word >> 12 & 3 and not word >> 14 & 1
        return (Use.CSR, (rs1,)) if from_register else (Use.NOTHING, ())
    plain = {
        _LOAD: (Use.LOAD, (rs1,)), _FLOAT_LOAD: (Use.LOAD, (rs1,)),
        _STORE: (Use.STORE, (rs1, rs2)), _FLOAT_STORE: (Use.STORE, (rs1, _FP + rs2)),
        _BRANCH: (Use.BRANCH, (rs1, rs2)), _HINTED_BRANCH: (Use.BRANCH, (rs1, rs2)),
        _JALR: (Use.JUMP, (rs1,)),
        _IMMEDIATE: (Use.RESULT, (rs1,)), _REGISTER: (Use.RESULT, (rs1, rs2)),
        _SIMT: (Use.SIMT, (rs1, rs2) if name in ("wspawn", "bar", "pred") else (rs1,)),
    }
    return plain.get(opcode, (Use.NOTHING, ()))


def _operation(instruction: Instruction) -> str:
    """Return the name of the rule: an immediate instruction has that of its register form."""
    if instruction.word & 0x7F != _IMMEDIATE:
        return instruction.name
    return "sltu" if instruction.name == "sltiu" else instruction.name.removesuffix("i")


def plan_of(instruction: Instruction) -> Plan:
    """Return the plan of a decoded word."""
    word, rd = instruction.word, instruction.rd
    use, sources = _operands(instruction)
    read = sum(1 << register for register in set(sources) - {0})
    touched = read | (0 if rd is None else 1 << rd)
    immediate = rule = signed = None
    moves = copies = False
    if use is Use.RESULT:
        name = _operation(instruction)
        rule = RULES.get(name)
        if word & 0x7F == _IMMEDIATE:
            immediate = np.array(((word >> 20) - (word >> 31 << 12)) & 0xFFFF_FFFF, np.uint32)
        with_zero = 0 in sources or (immediate is not None and not immediate)
        moves = name in MOVES or (name == "add" and with_zero)
        twice = len(set(sources)) < len(sources)
        copies = (
            name.startswith("fmv") or (with_zero and name in ("add", "or", "xor"))
            or (twice and name in ("and", "or", "fsgnj.s"))
        )
    elif use is Use.LOAD and word & 0x7F == _LOAD:
        signed = _SIGNED_LOADS.get(word >> 12 & 7)
    return Plan(word, instruction.name, use, sources, read, touched, rd, immediate, rule, moves, copies, signed)
