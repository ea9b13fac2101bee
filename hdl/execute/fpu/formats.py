"""The records of the floating-point units: operands, and intermediate values before rounding.

Each is at most 64 bits wide, so that simulators stay within machine words.
"""

from amaranth.lib import data, enum

__all__ = ["CANONICAL_NAN", "SUM_BITS", "Control", "Flags", "Float32", "Normalised", "Rounding", "Special", "Unpacked"]

#: Bits of an exact sum, quotient or root before it is rounded; the rest of it is in its lowest bit (sticky).
SUM_BITS = 52

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
    """An operand: (-1)**sign * significand / 2**23 * 2**(exponent - 127) if it is a number.

    ``exponent`` is at least 1, so a subnormal number has no leading one; for infinity and NaN it is 255. ``signalling``
    is set only with ``nan``.
    """

    significand: 24
    exponent: 8
    sign: 1
    zero: 1
    infinite: 1
    nan: 1
    signalling: 1


class Special(data.Struct):
    """A result that is not a rounded number: the canonical NaN if ``nan``, else infinity with ``sign`` if ``infinite``.

    The flags belong to it; they are 0 if there is none. For a conversion to an integer all but ``invalid`` are 0:
    ``invalid`` is 1 if the number does not fit in 32 bits before its sign is considered.
    """

    nan: 1
    infinite: 1
    sign: 1
    divide_by_zero: 1
    invalid: 1


class Control(data.Struct):
    """How a sum becomes a result."""

    rm: Rounding
    #: It becomes an integer, not a number.
    to_integer: 1
    #: That integer has no sign.
    is_unsigned: 1


class Normalised(data.Struct):
    """A value to be rounded: (-1)**sign * (high + less than 1 if ``rest``) / 2**33 * 2**(exponent - distance - 126).

    Either bit 33 is set or ``exponent`` equals ``distance``: then bit 33 would be that of the smallest normal number.
    Or ``zero``: the value is 0. For an integer, bits 32..1 are those before the point.
    """

    high: 34
    rest: 1
    exponent: 9
    distance: 6
    sign: 1
    zero: 1
