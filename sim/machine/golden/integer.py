"""Integer arithmetic on arrays, and builders of the computational instructions.

Every function takes two operands and ``out``, all of the same shape; ``out`` may be one of the operands. Functions in
``SIGNED`` take int32, those in ``UNSIGNED`` take uint32.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .view import View

__all__ = ["SIGNED", "UNSIGNED", "binary", "constant", "immediate"]

Operation = Callable[[np.ndarray, np.ndarray, np.ndarray], object]
Execute = Callable[[object, View, int], None]

ALL_ONES = np.uint32(0xFFFF_FFFF)
ONE = np.uint32(1)


def _sll(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.left_shift(a, b & 31, out=out)


def _srl(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.right_shift(a, b & 31, out=out)


def _mulh(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    out[...] = np.multiply(a, b, dtype=np.int64) >> 32


def _mulhu(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    out[...] = np.multiply(a, b, dtype=np.uint64) >> 32


def _mulhsu(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    out[...] = (a.astype(np.int64) * b.view(np.uint32)) >> 32


def _divu(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    zero = b == 0
    out[...] = np.where(zero, ALL_ONES, a // np.where(zero, ONE, b))


def _remu(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    zero = b == 0
    out[...] = np.where(zero, a, a % np.where(zero, ONE, b))


def _magnitude(a: np.ndarray) -> np.ndarray:
    """Return the absolute value as uint32; -2**31 wraps to itself, which is correct as unsigned."""
    return np.abs(a).view(np.uint32)


def _div(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    zero = b == 0
    quotient = _magnitude(a) // np.where(zero, ONE, _magnitude(b))
    signed = np.where((a ^ b) < 0, np.negative(quotient), quotient)
    out[...] = np.where(zero, ALL_ONES, signed).view(np.int32)


def _rem(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    zero = b == 0
    remainder = _magnitude(a) % np.where(zero, ONE, _magnitude(b))
    signed = np.where(a < 0, np.negative(remainder), remainder).view(np.int32)
    out[...] = np.where(zero, a, signed)


def _czero_eqz(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.multiply(a, b != 0, out=out)


def _czero_nez(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.multiply(a, b == 0, out=out)


SIGN = np.uint32(0x8000_0000)
MAGNITUDE = np.uint32(0x7FFF_FFFF)


def _fsgnj(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.bitwise_or(a & MAGNITUDE, b & SIGN, out=out)


def _fsgnjn(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.bitwise_or(a & MAGNITUDE, ~b & SIGN, out=out)


def _fsgnjx(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    np.bitwise_xor(a, b & SIGN, out=out)


UNSIGNED: dict[str, Operation] = {
    "add": np.add, "sub": np.subtract, "sll": _sll, "sltu": np.less, "xor": np.bitwise_xor, "srl": _srl,
    "or": np.bitwise_or, "and": np.bitwise_and, "mul": np.multiply, "mulhu": _mulhu, "divu": _divu, "remu": _remu,
    "czero.eqz": _czero_eqz, "czero.nez": _czero_nez,
    "fsgnj.s": _fsgnj, "fsgnjn.s": _fsgnjn, "fsgnjx.s": _fsgnjx,
}  # fmt: skip
SIGNED: dict[str, Operation] = {
    "slt": np.less, "sra": _srl, "mulh": _mulh, "mulhsu": _mulhsu, "div": _div, "rem": _rem,
}  # fmt: skip


def binary(name: str, rd: int, rs1: int, rs2: int) -> Execute:
    """rd := operation ``name`` of rs1 and rs2."""
    if name in SIGNED:
        operation = SIGNED[name]

        def execute_signed(state: object, view: View, pc: int) -> None:
            s = view.s
            if view.full:
                operation(s[rs1], s[rs2], s[rd])
            else:
                operation(s[rs1], s[rs2], view.scratch_signed)
                np.copyto(view.r[rd], view.scratch, where=view.mask)

        return execute_signed
    unsigned = UNSIGNED[name]

    def execute(state: object, view: View, pc: int) -> None:
        r = view.r
        if view.full:
            unsigned(r[rs1], r[rs2], r[rd])
        else:
            unsigned(r[rs1], r[rs2], view.scratch)
            np.copyto(r[rd], view.scratch, where=view.mask)

    return execute


def immediate(name: str, rd: int, rs1: int, imm: int) -> Execute:
    """rd := operation ``name`` of rs1 and a constant (the low 32 bits of any Python integer)."""
    bits = np.array(imm & 0xFFFF_FFFF, np.uint32)
    if name in SIGNED:
        operation, value = SIGNED[name], bits.view(np.int32)

        def execute_signed(state: object, view: View, pc: int) -> None:
            if view.full:
                operation(view.s[rs1], value, view.s[rd])
            else:
                operation(view.s[rs1], value, view.scratch_signed)
                np.copyto(view.r[rd], view.scratch, where=view.mask)

        return execute_signed
    unsigned = UNSIGNED[name]

    def execute(state: object, view: View, pc: int) -> None:
        r = view.r
        if view.full:
            unsigned(r[rs1], bits, r[rd])
        else:
            unsigned(r[rs1], bits, view.scratch)
            np.copyto(r[rd], view.scratch, where=view.mask)

    return execute


def constant(rd: int, value: int, *, relative: bool) -> Execute:
    """rd := ``value``, plus the pc if ``relative`` (lui, auipc)."""

    def execute(state: object, view: View, pc: int) -> None:
        view.put(rd, (value + pc if relative else value) & 0xFFFF_FFFF)

    return execute
