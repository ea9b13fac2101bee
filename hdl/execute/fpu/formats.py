"""The records of the floating-point units: operands, and what is on its way to a rounded result.

Each is at most 64 bits wide, so that simulators stay within machine words.
"""

from amaranth.hdl import signed
from amaranth.lib import data, enum

__all__ = [
    "BIAS", "CANONICAL_NAN", "EXPONENT_BITS", "MIN_EXPONENT",
    "Aligned", "Flags", "Float32", "Rounding", "Special", "Unpacked", "Unrounded",
]

#: The exponent of the smallest normal number, 2**-126, and of all subnormal ones.
MIN_EXPONENT = -126
BIAS = 127

#: Bits of a signed exponent: enough for every product, quotient and sum before it is rounded.
EXPONENT_BITS = 10

#: The only NaN that RISC-V writes.
CANONICAL_NAN = 0x7FC0_0000


class Rounding(enum.Enum, shape=3):
    """RISC-V's ``rm`` field."""

    #: To nearest, ties to even.
    RNE = 0
    #: Towards zero.
    RTZ = 1
    #: Down.
    RDN = 2
    #: Up.
    RUP = 3
    #: To nearest, ties away from zero.
    RMM = 4


class Flags(data.Struct):
    """RISC-V's ``fflags``."""

    inexact: 1
    underflow: 1
    overflow: 1
    divide_by_zero: 1
    invalid: 1


class Float32(data.Struct):
    """The encoding of a number."""

    fraction: 23
    exponent: 8
    sign: 1


class Unpacked(data.Struct):
    """An operand: (-1)**sign * significand / 2**23 * 2**exponent if it is a number other than zero.

    ``significand`` then has its leading one, of subnormal numbers too. That of zero is 0; otherwise exponent and
    significand mean nothing where one of the four class bits is set. ``signalling`` comes with ``nan``.
    """

    significand: 24
    exponent: signed(EXPONENT_BITS)
    sign: 1
    zero: 1
    infinite: 1
    nan: 1
    signalling: 1


class Special(data.Struct):
    """A result that is not a rounded number: the canonical NaN if ``nan``, else infinity with ``sign`` if ``infinite``.

    The flags belong to it; they are 0 where there is none.
    """

    nan: 1
    infinite: 1
    sign: 1
    divide_by_zero: 1
    invalid: 1


class Unrounded(data.Struct):
    """An exact number: (-1)**sign * (significand + guard / 2 + rest) / 2**23 * 2**exponent.

    ``rest`` lies between 0 and 1/2, and is 0 exactly if ``sticky`` is 0. The significand has its leading one; or
    significand, guard and sticky are 0, then it is a zero.
    """

    sticky: 1
    guard: 1
    significand: 24
    exponent: signed(EXPONENT_BITS)
    sign: 1


class Aligned(data.Struct):
    """An :class:`Unrounded` number whose significand is cut where the encoding of its result ends.

    ``exponent`` is that of the encoding, so it is 0 of subnormal results; it may be too large for the format. ``tiny``:
    underflows if it is inexact.
    """

    sticky: 1
    guard: 1
    significand: 24
    exponent: EXPONENT_BITS
    sign: 1
    tiny: 1
