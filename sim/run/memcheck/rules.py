"""Propagation of undefined bits through instructions, after valgrind's memcheck (Seward 2005, section 2).

A set bit in ``va`` means that this bit of ``a`` is undefined: it comes from uninitialised memory. All arrays
are uint32 of one shape (lanes,), or broadcast to it. A result bit is undefined if other values of the operands'
undefined bits could change it; where that is costly to compute, more bits count as undefined.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["MOVES", "RULES", "Rule", "compared", "everywhere"]

Rule = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

_ALL = np.uint32(0xFFFF_FFFF)
_SIGN = np.uint32(0x8000_0000)
_NONE = np.uint32(0)


def everywhere(bits: np.ndarray) -> np.ndarray:
    """Set all bits of the lanes in which any bit is set."""
    return np.where(bits != 0, _ALL, _NONE)


def _first(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return va


def _xor(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return va | vb


def _and(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return (va & vb) | (va & b) | (vb & a)


def _or(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return (va & vb) | (va & ~b) | (vb & ~a)


def _add(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return va | vb | (((a & ~va) + (b & ~vb)) ^ ((a | va) + (b | vb)))


def _sub(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return va | vb | (((a & ~va) - (b | vb)) ^ ((a | va) - (b & ~vb)))


def _mul(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    both = va | vb
    return both | np.negative(both)


def _wholly(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return everywhere(va | vb)


def _truth(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return (va | vb != 0).astype(np.uint32)


def _shift(shifted: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    def rule(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
        return np.where(vb & 31 != 0, _ALL, shifted(va, b & 31))

    return rule


def _below(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    """Bit 0: whether a < b, unsigned, is undefined."""
    may = (a & ~va) < (b | vb)
    must = (a | va) < (b & ~vb)
    return (may & ~must).astype(np.uint32)


def _below_signed(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return _below(a ^ _SIGN, va, b ^ _SIGN, vb)


def _equal(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    """Bit 0: whether a == b is undefined; it is defined if any defined bit differs."""
    undefined = va | vb
    return ((undefined != 0) & ((a ^ b) & ~undefined == 0)).astype(np.uint32)


def _zero_if(zero: bool) -> Rule:
    """czero.eqz (``zero``: b is 0) and czero.nez: 0 instead of a."""

    def rule(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
        nonzero, is_zero = b & ~vb != 0, b | vb == 0
        clears, keeps = (is_zero, nonzero) if zero else (nonzero, is_zero)
        return np.where(keeps, va, np.where(clears, _NONE, va | a))

    return rule


def _sign_from(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return (va & ~_SIGN) | (vb & _SIGN)


def _sign_both(a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    return va | (vb & _SIGN)


#: Rules for two operands, by the name in sim.machine.golden.decode, without the i of an immediate.
RULES: dict[str, Rule] = {
    "add": _add, "sub": _sub, "xor": _xor, "and": _and, "or": _or, "slt": _below_signed, "sltu": _below,
    "sll": _shift(np.left_shift), "srl": _shift(np.right_shift),
    # numpy shifts an int32 by a uint32 in 64 bits.
    "sra": _shift(lambda bits, by: (bits.view(np.int32) >> by.astype(np.int32)).view(np.uint32)),
    "mul": _mul, "mulh": _wholly, "mulhu": _wholly, "mulhsu": _wholly,
    "div": _wholly, "divu": _wholly, "rem": _wholly, "remu": _wholly,
    "czero.eqz": _zero_if(True), "czero.nez": _zero_if(False),
    "fsgnj.s": _sign_from, "fsgnjn.s": _sign_from, "fsgnjx.s": _sign_both,
    "feq.s": _truth, "flt.s": _truth, "fle.s": _truth, "fmv.x.w": _first, "fmv.w.x": _first,
}  # fmt: skip

#: Operations that a compiler also uses to move bits unchanged; add only with 0.
MOVES = frozenset(("xor", "and", "or", "sll", "srl", "sra", "czero.eqz", "czero.nez", "fsgnj.s", "fmv.x.w", "fmv.w.x"))

_COMPARED: dict[str, Rule] = {
    "beq": _equal, "bne": _equal, "blt": _below_signed, "bge": _below_signed, "bltu": _below, "bgeu": _below,
}  # fmt: skip


def compared(name: str, a: np.ndarray, va: np.ndarray, b: np.ndarray, vb: np.ndarray) -> np.ndarray:
    """Return the lanes in which the condition of the branch ``name`` is undefined (bool)."""
    return _COMPARED[name](a, va, b, vb) != 0
