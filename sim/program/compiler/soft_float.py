"""Soft float: programs without float instructions, in which each operation on floats calls a routine of the runtime.

The routines are in ``riscv_kernels/runtime/soft_float``. They give the same bits as the FPU, so the checks of the
kernels hold for both. That includes ``a * b + c``, which is rounded once: for a machine without F, LLVM would compute a
product and a sum. Therefore C becomes LLVM IR first, and each multiply-add that may be fused is made one that must be.
"""

from __future__ import annotations

import re

__all__ = ["CONTRADICTS", "SOFT_FLOAT_FLAGS", "with_routines"]

#: The flags of every source. The instruction set is that of a machine without FPU (isa.md).
SOFT_FLOAT_FLAGS = ("-march=rv32im_zicond_zicsr_zifencei", "-mabi=ilp32", "-DMETRONOME_SOFT_FLOAT")
#: Flags of the user's that contradict them.
CONTRADICTS = re.compile(
    rf"(?!({'|'.join(SOFT_FLOAT_FLAGS[:2])})$)(-march=.*|-mabi=.*)|(-[DU])?METRONOME_SOFT_FLOAT.*|\+(f|d|z[fdh]\w+)"
)
#: The multiply-add of an expression, which LLVM may split: its declaration, and its name in a call.
_DECLARED = re.compile(r"^declare [^\n]*@llvm\.fmuladd\.(?:v\d+)?f32\([^\n]*\n", re.MULTILINE)
_MULTIPLY_ADD = re.compile(r"@llvm\.fmuladd\.((?:v\d+)?f32)(?=\()")
#: Functions of C that LLVM calls by itself where the machine has no instruction.
_CALLED = ("fmaf", "sqrtf", "fminf", "fmaxf", "floorf", "ceilf", "truncf", "roundf", "rintf", "roundevenf",
           "lrintf", "lroundf")
_DEFINED = re.compile(rf"^(?:define [^\n@]*@({'|'.join(_CALLED)})\(|@({'|'.join(_CALLED)}) =)", re.MULTILINE)


def with_routines(code: str) -> str:
    """The LLVM IR with each multiply-add rounded once.

    A program may have its own function of a name in C's library (names.h). LLVM's calls must not reach it, so it gets
    another name in its file.
    """
    # Calls of an intrinsic need no declaration.
    code = _MULTIPLY_ADD.sub(r"@llvm.fma.\1", _DECLARED.sub("", code))
    for name in {found[1] or found[2] for found in _DEFINED.finditer(code)}:
        code = re.sub(rf"@{name}(?![\w.$])", f"@__metronome_own_{name}", code)
    return code
