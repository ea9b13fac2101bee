"""Binary32 arithmetic as RISC-V "F" defines it, bit for bit and flag for flag, on whole numpy arrays.

Operands are uint32 arrays of one shape (0-d included) that hold binary32 encodings; `rm` is one int 0..4 (RNE, RTZ,
RDN, RUP, RMM; `Rounding`) for the whole call. Every operation returns `(result, flags)`: uint32 and uint8 arrays of
that shape, the flags those this element raised (NX 1, UF 2, OF 4, DZ 8, NV 16). Operands are never modified.

NaN results are the canonical 0x7FC00000, tininess is detected after rounding, and conversions to integer saturate
(RISC-V unprivileged ISA, chapter "F" standard extension). Errors: TypeError for another dtype, ValueError for
operands of different shapes or another rm.

The host computes in float64 and in its default environment (round to nearest, no flush to zero), which every platform
numpy supports provides; rounding.py explains why the binary32 results are exact.
"""

from .arithmetic import add, div, fma, mul, sqrt, sub
from .convert import classify, eq, from_int, le, lt, max_, min_, to_int
from .formats import CANONICAL_NAN, DZ, NV, NX, OF, UF, Rounding

__all__ = ["CANONICAL_NAN", "DZ", "NV", "NX", "OF", "UF", "Rounding", "add", "classify", "div", "eq", "fma", "from_int",
           "le", "lt", "max_", "min_", "mul", "sqrt", "sub", "to_int"]
