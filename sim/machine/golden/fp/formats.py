"""Binary32 encodings, exception flags, rounding modes, and the wrapper every public operation goes through."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import IntEnum
from typing import Any, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
U8 = NDArray[np.uint8]
F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]
Result = tuple[U32, U8]
"""What every operation returns: the result bits and, per element, the exception flags it raised."""

NX, UF, OF, DZ, NV = 1, 2, 4, 8, 16
"""Exception flags (inexact, underflow, overflow, divide by zero, invalid) as they sit in fflags."""

SIGN = 0x8000_0000
MAGNITUDE = 0x7FFF_FFFF
MIN_NORMAL = 0x0080_0000
MAX_FINITE = 0x7F7F_FFFF
INF = 0x7F80_0000
QUIET_BIT = 0x0040_0000
CANONICAL_NAN = 0x7FC0_0000


class Rounding(IntEnum):
    """Rounding modes as the frm CSR and the rm field encode them; 5, 6 and 7 never reach this package."""

    RNE = 0
    RTZ = 1
    RDN = 2
    RUP = 3
    RMM = 4


_P = ParamSpec("_P")


def elementwise(operands: int) -> Callable[[Callable[_P, Result]], Callable[_P, Result]]:
    """Decorator: checks the first `operands` arguments, and shields the operation from 0-d arrays and host FP warnings.

    The operands, positional, must be uint32 arrays (TypeError) of one shape (ValueError). numpy turns 0-d results
    into scalars, which support neither in-place nor masked writes, so an operation sees at least one dimension.
    """

    def decorate(operation: Callable[_P, Result]) -> Callable[_P, Result]:
        @functools.wraps(operation)
        def wrapper(first: Any, /, *rest: Any, **kwargs: Any) -> Result:
            args = (first, *rest)
            for array in args[:operands]:
                if not isinstance(array, (np.ndarray, np.generic)) or array.dtype != np.uint32:
                    raise TypeError(f"{operation.__name__}: operands must be numpy uint32, not {_describe(array)}")
                if array.shape != first.shape:
                    raise ValueError(
                        f"{operation.__name__}: operands must have one shape, not {first.shape} and {array.shape}"
                    )
            with np.errstate(all="ignore"):
                if first.ndim:
                    return operation(*args, **kwargs)
                one_dimensional = (array.reshape(1) for array in args[:operands])
                bits, flags = operation(*one_dimensional, *args[operands:], **kwargs)
                return bits.reshape(()), flags.reshape(())

        return cast(Callable[_P, Result], wrapper)

    return decorate


def _describe(operand: object) -> str:
    return f"{operand.dtype}" if isinstance(operand, (np.ndarray, np.generic)) else type(operand).__name__


def checked_rounding(rm: int) -> int:
    """`rm`, or ValueError when it is not one of the five modes (the caller resolves DYN and reserved encodings)."""
    if not 0 <= rm <= 4:
        raise ValueError(f"rm must be 0..4, not {rm!r}")
    return rm


def widen(a: U32) -> F64:
    """The values as float64, exactly (every binary32 number, subnormal or not, is a normal float64)."""
    return a.view(np.float32).astype(np.float64)


def is_nan(a: U32) -> Bool:
    """True where `a` is a NaN, quiet or signalling."""
    nan: Bool = (a & MAGNITUDE) > INF
    return nan


def is_signalling(a: U32) -> Bool:
    """True where `a` is a signalling NaN."""
    quiet: Bool = (a & QUIET_BIT) != 0
    return is_nan(a) & ~quiet
