"""Built-in functions of OpenCL C 1.2 (6.12.2 and 6.12.3) for :mod:`.values`: exact ones, and those within an error."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.riscv_kernels.opencl.fuzz.values import DTYPES, limits

__all__ = ["BITS", "EDGES", "EXACT", "INTEGER", "MATHEMATICS", "Limited", "by_element", "unsigned"]


def unsigned(name: str) -> str:
    return name if name.startswith("u") else f"u{name}"


def by_element(function: Callable[..., int], name: str, *arguments: np.ndarray) -> np.ndarray:
    """``function`` of whole numbers, element by element, as ``name``; what does not fit loses its high bits."""
    arrays = np.broadcast_arrays(*arguments)
    low, high = limits(name)
    result = np.empty(arrays[0].shape, DTYPES[name])
    for place in np.ndindex(result.shape):
        result[place] = (function(*(int(each[place]) for each in arrays)) - low) % (high - low + 1) + low
    return result


def _saturated(number: int, name: str) -> int:
    low, high = limits(name)
    return min(max(number, low), high)


def _bits(name: str) -> int:
    return 8 * DTYPES[name]().itemsize


def _rotate(a: int, b: int, bits: int) -> int:
    a, b = a % (1 << bits), b % bits
    return a << b | a >> (bits - b)


#: Name -> number of arguments, whether the result is unsigned, and the function of (name of the type, arguments).
INTEGER: dict[str, tuple[int, bool, Callable[..., int]]] = {
    "abs": (1, True, lambda name, a: abs(a)), "abs_diff": (2, True, lambda name, a, b: abs(a - b)),
    "add_sat": (2, False, lambda name, a, b: _saturated(a + b, name)),
    "sub_sat": (2, False, lambda name, a, b: _saturated(a - b, name)),
    "hadd": (2, False, lambda name, a, b: (a + b) >> 1), "rhadd": (2, False, lambda name, a, b: (a + b + 1) >> 1),
    "max": (2, False, lambda name, a, b: max(a, b)), "min": (2, False, lambda name, a, b: min(a, b)),
    "mul_hi": (2, False, lambda name, a, b: a * b >> _bits(name)),
    "mad_hi": (3, False, lambda name, a, b, c: (a * b >> _bits(name)) + c),
    "clz": (1, False, lambda name, a: _bits(name) - (a % (1 << _bits(name))).bit_length()),
    "popcount": (1, False, lambda name, a: (a % (1 << _bits(name))).bit_count()),
    "rotate": (2, False, lambda name, a, b: _rotate(a, b, _bits(name))),
}


def _each(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    return lambda *arguments: np.vectorize(function, otypes=[np.float64])(*arguments)


def _round(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x)) + (np.abs(x) - np.floor(np.abs(x)) >= 0.5), x)


def _pi_times(function: Callable[[float], float], zero: float) -> Callable[..., np.ndarray]:
    """sin or cos of pi x, exact where x is a multiple of 1/2; ``zero`` is the rest of the odd ones at which it is 0."""
    def one(x: float) -> float:
        if not math.isfinite(x):
            return math.nan
        rest = math.fmod(x, 2)
        if abs(rest) % 1 == zero:
            return math.copysign(0, x) if zero == 0 else 0.0
        return float(round(function(math.pi * rest))) if 2 * rest % 1 == 0 else function(math.pi * rest)
    return _each(one)


def _power(x: float, y: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(x), np.float64(y)))


@dataclass(frozen=True)
class Limited:
    """A function of floats: its value in double precision and its largest error in units of the last place."""

    arguments: int
    value: Callable[..., np.ndarray]
    ulp: float
    #: The second argument is an int.
    whole: bool = False
    #: Of two zeros either may come.
    either_zero: bool = False


#: A float that is what it is.
BITS = Limited(1, np.abs, 0)
#: Results that are floats exactly.
EXACT = {
    "floor": Limited(1, np.floor, 0), "ceil": Limited(1, np.ceil, 0), "trunc": Limited(1, np.trunc, 0),
    "rint": Limited(1, np.rint, 0), "round": Limited(1, _round, 0), "fabs": Limited(1, np.abs, 0),
    "fmin": Limited(2, np.fmin, 0, either_zero=True), "fmax": Limited(2, np.fmax, 0, either_zero=True),
    "copysign": Limited(2, np.copysign, 0), "fmod": Limited(2, np.fmod, 0),
    "nextafter": Limited(2, lambda x, y: np.nextafter(x.astype(np.float32), y.astype(np.float32)).astype(np.float64),
                         0),
    "ldexp": Limited(2, lambda x, k: np.ldexp(x, k), 0.5, whole=True),
    "sqrt": Limited(1, np.sqrt, 0.5),
}
#: With the errors of section 7.4.
MATHEMATICS = {
    "exp": Limited(1, np.exp, 3), "exp2": Limited(1, np.exp2, 3), "expm1": Limited(1, np.expm1, 3),
    "log": Limited(1, np.log, 3), "log2": Limited(1, np.log2, 3), "log10": Limited(1, np.log10, 3),
    "log1p": Limited(1, np.log1p, 2), "sin": Limited(1, np.sin, 4), "cos": Limited(1, np.cos, 4),
    "tan": Limited(1, np.tan, 5), "asin": Limited(1, np.arcsin, 4), "acos": Limited(1, np.arccos, 4),
    "atan": Limited(1, np.arctan, 5), "atan2": Limited(2, np.arctan2, 6), "sinh": Limited(1, np.sinh, 4),
    "cosh": Limited(1, np.cosh, 4), "tanh": Limited(1, np.tanh, 5), "cbrt": Limited(1, np.cbrt, 2),
    "hypot": Limited(2, np.hypot, 4), "pow": Limited(2, _each(_power), 16),
    "pown": Limited(2, _each(_power), 16, whole=True), "erf": Limited(1, _each(math.erf), 16),
    "erfc": Limited(1, _each(math.erfc), 16), "sinpi": Limited(1, _pi_times(math.sin, 0), 4),
    "cospi": Limited(1, _pi_times(math.cos, 0.5), 4), "rsqrt": Limited(1, lambda x: 1 / np.sqrt(x), 2),
}
#: Arguments at which functions go wrong.
EDGES = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 5.0, 9.0, -7.25, math.inf, -math.inf, math.nan, 3.4028235e38,
    1.1754944e-38, 1e-45, -1e-40, 8388607.5, 16777216.0, -16777216.0, 1e-20, -1e-8, 1e20, 88.7, -87.5, 100.25, 1e5,
)
