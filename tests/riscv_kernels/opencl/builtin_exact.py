"""Exact values of the built-in functions of floats: mpmath numbers, or floats where the value is special.

Every function takes Python floats that are float32 numbers. F.9 of C99 and 7.5 of OpenCL C 1.2 have the special values.
"""

import math
import struct
from fractions import Fraction

import mpmath
import numpy as np
from mpmath import mpf

NAN, INF = math.nan, math.inf
#: More than twice what the largest argument of a sine needs.
PRECISION = 320


def sign(x):
    return math.copysign(1.0, x)


def odd(x):
    return math.fmod(x, 2.0) != 0.0


def one(function, *, low=-INF, high=INF, at_low=NAN, at_high=NAN, keep_zero=True):
    """A function of one argument: NaN outside [low, high], given values at the ends that are infinite or poles."""
    def value(x):
        if math.isnan(x) or x < low or x > high:
            return NAN
        if x == 0.0 and keep_zero:
            return x
        if x in (low, high):
            special = at_low if x == low else at_high
            if special is not NAN or math.isinf(x):
                return special
        return function(mpf(x))

    return value


def integer(function):
    """One that gives whole numbers, with the argument's sign; infinities stay."""
    def value(x):
        return x if math.isnan(x) or math.isinf(x) else math.copysign(float(function(Fraction(x))), x)

    return value


def half_away(x):
    return math.floor(abs(x) + Fraction(1, 2))


def sin_pi(x):
    if math.isnan(x) or math.isinf(x):
        return NAN
    return math.copysign(0.0, x) if x == math.floor(x) else mpmath.sinpi(mpf(x))


def cos_pi(x):
    if math.isnan(x) or math.isinf(x):
        return NAN
    return 0.0 if abs(math.fmod(x, 1.0)) == 0.5 else mpmath.cospi(mpf(x))


def tan_pi(x):
    if math.isnan(x) or math.isinf(x):
        return NAN
    if x == math.floor(x):
        return math.copysign(0.0, -x if odd(x) else x)
    if abs(math.fmod(x, 1.0)) == 0.5:
        return -INF if odd(math.floor(x)) else INF
    return mpmath.sinpi(mpf(x)) / mpmath.cospi(mpf(x))


def tgamma(x):
    if math.isnan(x) or x == -INF or (x < 0 and x == math.floor(x)):
        return NAN
    if x == INF or x > 40:
        return INF
    if x < -60:
        return -0.0 if odd(math.floor(x)) else 0.0
    return math.copysign(INF, x) if x == 0.0 else mpmath.gamma(mpf(x))


def lgamma(x):
    if math.isnan(x):
        return NAN
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return INF
    if x in (1.0, 2.0):
        return 0.0
    with mpmath.workprec(160):
        return mpmath.loggamma(mpf(x)).real if x > 0 else mpmath.log(
            mpmath.pi / abs(mpf(x) * mpmath.sinpi(mpf(x)))) - mpmath.loggamma(-mpf(x)).real


def gamma_sign(x):
    if not math.isfinite(x) or (x <= 0 and x == math.floor(x)):
        return None
    return -1 if x < 0 and odd(math.floor(x)) else 1


def power(x, y):
    """pow of C99."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return NAN
    if math.isinf(y):
        size = abs(x)
        return 1.0 if size == 1.0 else (INF if (size > 1.0) == (y > 0) else 0.0)
    negative = sign(x) < 0 and y == math.floor(y) and odd(y)
    if x == 0.0 or math.isinf(x):
        size = INF if (x == 0.0) == (y < 0) else 0.0
        return -size if negative else size
    if x < 0 and y != math.floor(y):
        return NAN
    size = mpmath.exp(mpf(y) * mpmath.log(abs(mpf(x)))) if abs(y * math.log(abs(x))) < 200 else (
        INF if y * math.log(abs(x)) > 0 else 0.0)
    return -size if negative else size


def powr(x, y):
    """Defined for x >= 0; unlike pow NaN for 0^0, infinity^0 and 1^infinity."""
    if math.isnan(x) or math.isnan(y) or x < 0.0:
        return NAN
    if (y == 0.0 and (x == 0.0 or math.isinf(x))) or (x == 1.0 and math.isinf(y)):
        return NAN
    return power(abs(x), y)


def rootn(x, y):
    if math.isnan(x) or y == 0 or (x < 0 and y % 2 == 0):
        return NAN
    if x == 0.0 or math.isinf(x):
        size = INF if (x == 0.0) == (y < 0) else 0.0
    else:
        size = mpmath.exp(mpmath.log(abs(mpf(x))) / y)
    return -size if sign(x) < 0 and y % 2 else size


def atan2(y, x):
    if math.isnan(x) or math.isnan(y):
        return NAN
    if y == 0.0:
        return y if sign(x) > 0 else mpmath.pi * sign(y)
    if math.isinf(x):
        size = (mpmath.pi / 4 if x > 0 else 3 * mpmath.pi / 4) if math.isinf(y) else (0.0 if x > 0 else mpmath.pi)
        return size * sign(y)
    return mpmath.pi / 2 * sign(y) if math.isinf(y) else mpmath.atan2(mpf(y), mpf(x))


def atan2_pi(y, x):
    value = atan2(y, x)
    if math.isnan(value) or value == 0.0:
        return value
    exact = {(True, True): 0.25, (False, True): 1.0}
    if math.isinf(x):
        size = exact[math.isinf(y), True]
        return sign(y) * (size if x > 0 else 1.0 - size if math.isinf(y) else 1.0)
    return value / mpmath.pi


def hypot(x, y):
    if math.isinf(x) or math.isinf(y):
        return INF
    return NAN if math.isnan(x) or math.isnan(y) else mpmath.sqrt(mpf(x) ** 2 + mpf(y) ** 2)


def fmod(x, y):
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0.0:
        return NAN
    return x if math.isinf(y) else math.fmod(x, y)


def remquo(x, y):
    """The remainder and the low seven bits of the quotient with its sign."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0.0:
        return NAN, 0
    if math.isinf(y) or x == 0.0:
        return x, 0
    quotient = round(Fraction(x) / Fraction(y))
    rest = Fraction(x) - quotient * Fraction(y)
    low = abs(quotient) & 127
    return math.copysign(float(rest), x) if rest == 0 else float(rest), -low if quotient < 0 else low


def extreme(x, y, pick):
    """fmin and fmax: a NaN is no number; of two zeros either."""
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    return pick(x, y)


def magnitude(x, y, pick, other):
    if math.isnan(x) or math.isnan(y) or abs(x) == abs(y):
        return extreme(x, y, other)
    return pick((x, y), key=abs)


def fma(x, y, z):
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z if x == 0.0 or y == 0.0 else 0.0
    return mpf(exact.numerator) / exact.denominator


def quotient(x, y):
    if math.isnan(x) or math.isnan(y) or (x == 0.0 == y) or (math.isinf(x) and math.isinf(y)):
        return NAN
    if y == 0.0 or math.isinf(x):
        return math.copysign(INF, sign(x) * sign(y))
    return math.copysign(0.0, sign(x) * sign(y)) if math.isinf(y) or x == 0.0 else mpf(x) / mpf(y)


def scaled(x, n):
    return x if x == 0.0 or not math.isfinite(x) else mpmath.ldexp(mpf(x), n)


def exponent(x):
    """ilogb."""
    if x == 0.0:
        return -(1 << 31)
    return (1 << 31) - 1 if not math.isfinite(x) else math.frexp(x)[1] - 1


def fract(x):
    """(7.5.1) Two results."""
    if not math.isfinite(x):
        return (NAN, NAN) if math.isnan(x) else (math.copysign(0.0, x), x)
    if x == 0.0:
        return x, x
    whole = math.floor(x)
    return min(mpf(x) - whole, mpf(1) - mpf(2) ** -24), math.copysign(float(whole), x) if whole == 0 else float(whole)


def modf(x):
    if not math.isfinite(x):
        return (NAN, NAN) if math.isnan(x) else (math.copysign(0.0, x), x)
    return math.modf(x)


def next_after(x, y):
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(np.float32(x), np.float32(y)))


def exp_base(function):
    def value(x):
        if math.isnan(x) or math.isinf(x):
            return NAN if math.isnan(x) else (INF if x > 0 else 0.0)
        return (INF if x > 0 else mpf(2) ** -400) if abs(x) > 200 else function(mpf(x))

    return value


def hyperbolic(function, at_low):
    def value(x):
        if math.isnan(x) or x == 0.0:
            return function(mpf(0)) if x == 0.0 and at_low == INF else x
        return (INF if x > 0 else at_low) if abs(x) > 200 else function(mpf(x))

    return value


def logarithm(base):
    def value(x):
        if x == 0.0:
            return -INF
        return NAN if math.isnan(x) or x < 0 else INF if x == INF else 0.0 if x == 1.0 else mpmath.log(mpf(x)) / base

    return value


def bit_select(x, y, z):
    a, b, c = (struct.unpack("<I", struct.pack("<f", value))[0] for value in (x, y, z))
    return struct.unpack("<f", struct.pack("<I", (a & ~c) | (b & c)))[0]


def rsqrt(x):
    if x == 0.0:
        return math.copysign(INF, x)
    return 0.0 if x == INF else 1 / mpmath.sqrt(mpf(x)) if x > 0 else NAN
