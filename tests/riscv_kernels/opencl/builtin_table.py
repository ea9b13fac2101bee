"""The built-in functions of OpenCL kernels, how far each may be from its exact value, and that value.

``limit`` is in units of the last place (OpenCL C 1.2, 7.4); 0 is exact. None: the standard has no limit, and the page
docs/opencl.md states the worst error that was seen. The C names are those of math.h, which run the same code.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mpf

from tests.riscv_kernels.opencl import builtin_exact as exact

INF, NAN = math.inf, math.nan


@dataclass(frozen=True)
class Function:
    """``call`` is the expression in OpenCL C for x, y, z of float and n of int."""

    name: str
    call: str
    limit: float | None
    value: Callable[..., object]
    #: Arguments of ``value``: one of "x", "xy", "xyz", "xn".
    arguments: str = "x"
    #: Of the result: "float" or "int".
    result: str = "float"
    #: Vectors of this function exist.
    wide: bool = True


def _one(name: str, limit: float | None, value: Callable[..., object], **more: object) -> Function:
    return Function(name, f"{name}(x)", limit, value, **more)


def _two(name: str, limit: float | None, value: Callable[..., object], **more: object) -> Function:
    return Function(name, f"{name}(x, y)", limit, value, "xy", **more)


def _log2(x: float) -> object:
    return exact.logarithm(mpmath.log(2))(x)


def _log10(x: float) -> object:
    return exact.logarithm(mpmath.log(10))(x)


_LIBRARY: dict[str, tuple[float, Callable[..., object]]] = {
    "acos": (4, exact.one(mpmath.acos, low=-1.0, high=1.0, at_high=0.0, at_low=NAN, keep_zero=False)),
    "acospi": (5, lambda x: 1.0 if x == -1.0 else exact.one(
        lambda v: mpmath.acos(v) / mpmath.pi, low=-1.0, high=1.0, at_high=0.0, keep_zero=False)(x)),
    "asin": (4, exact.one(mpmath.asin, low=-1.0, high=1.0)),
    "asinpi": (5, exact.one(lambda v: mpmath.asin(v) / mpmath.pi, low=-1.0, high=1.0)),
    "atan": (5, lambda x: mpmath.pi / 2 * exact.sign(x) if math.isinf(x) else exact.one(mpmath.atan)(x)),
    "atanpi": (5, lambda x: math.copysign(0.5, x) if math.isinf(x) else exact.one(
        lambda v: mpmath.atan(v) / mpmath.pi)(x)),
    "acosh": (4, exact.one(mpmath.acosh, low=1.0, at_low=0.0, at_high=INF)),
    "asinh": (4, exact.one(mpmath.asinh, at_low=-INF, at_high=INF)),
    "atanh": (5, exact.one(mpmath.atanh, low=-1.0, high=1.0, at_low=-INF, at_high=INF)),
    "cbrt": (2, exact.one(lambda v: mpmath.sign(v) * mpmath.cbrt(abs(v)), at_low=-INF, at_high=INF)),
    "cos": (4, lambda x: NAN if not math.isfinite(x) else mpmath.cos(mpf(x))),
    "cosh": (4, exact.hyperbolic(mpmath.cosh, INF)), "cospi": (4, exact.cos_pi),
    "erf": (16, exact.one(mpmath.erf, at_low=-1.0, at_high=1.0)),
    "erfc": (16, exact.one(lambda v: mpf(2) ** -500 if v > 50 else mpmath.erfc(v),
                           at_low=2.0, at_high=0.0, keep_zero=False)),
    "exp": (3, exact.exp_base(mpmath.exp)), "exp2": (3, exact.exp_base(lambda v: mpf(2) ** v)),
    "exp10": (3, exact.exp_base(lambda v: mpf(10) ** v)),
    "expm1": (3, exact.one(lambda v: INF if v > 200 else mpf(-1) if v < -300 else mpmath.expm1(v),
                           at_low=-1.0, at_high=INF)),
    "log": (3, exact.logarithm(1)), "log2": (3, _log2), "log10": (3, _log10),
    "log1p": (2, exact.one(mpmath.log1p, low=-1.0, at_low=-INF, at_high=INF)), "rsqrt": (2, exact.rsqrt),
    "sin": (4, lambda x: NAN if math.isinf(x) else exact.one(mpmath.sin)(x)),
    "sinh": (4, exact.hyperbolic(mpmath.sinh, -INF)), "sinpi": (4, exact.sin_pi),
    "sqrt": (3, exact.one(mpmath.sqrt, low=-0.0, at_high=INF)),
    "tan": (5, lambda x: NAN if math.isinf(x) else exact.one(mpmath.tan)(x)),
    "tanh": (5, exact.one(lambda v: mpf(exact.sign(v)) if abs(v) > 300 else mpmath.tanh(v), at_low=-1.0, at_high=1.0)),
    "tanpi": (6, exact.tan_pi), "tgamma": (16, exact.tgamma), "fabs": (0, abs), "ceil": (0, exact.integer(math.ceil)),
    "floor": (0, exact.integer(math.floor)), "trunc": (0, exact.integer(math.trunc)),
    "rint": (0, exact.integer(round)), "round": (0, exact.integer(exact.half_away)),
    "logb": (0, lambda x: -INF if x == 0.0 else abs(x) if not math.isfinite(x) else float(math.frexp(x)[1] - 1)),
    "sign": (0, lambda x: 0.0 if math.isnan(x) else x if x == 0.0 else exact.sign(x)),
}


def _constant(factor: Callable[[], object]) -> Callable[[float], object]:
    return lambda x: x if x == 0.0 or not math.isfinite(x) else mpf(x) * factor()


_NATIVE = ("cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan")


def _reciprocal(x: float) -> object:
    return exact.quotient(1.0, x)


ONE = [
    *(_one(name, limit, value) for name, (limit, value) in _LIBRARY.items()), _one("lgamma", None, exact.lgamma),
    Function("lgamma_r", "lgamma_r(x, &whole)", None, exact.lgamma),
    Function("lgamma_r: sign", "(lgamma_r(x, &whole), whole)", 0, exact.gamma_sign, result="int"),
    Function("ilogb", "ilogb(x)", 0, exact.exponent, result="int"),
    Function("nan", "nan(as_uint(x))", 0, lambda x: NAN),
    Function("fract", "fract(x, &part)", 0.5, lambda x: exact.fract(x)[0]),
    Function("fract: whole", "(fract(x, &part), part)", 0, lambda x: exact.fract(x)[1]),
    Function("modf", "modf(x, &part)", 0, lambda x: exact.modf(x)[0]),
    Function("modf: whole", "(modf(x, &part), part)", 0, lambda x: exact.modf(x)[1]),
    Function("frexp", "frexp(x, &whole)", 0, lambda x: math.frexp(x)[0]),
    Function("frexp: exponent", "(frexp(x, &whole), whole)", 0,
             lambda x: math.frexp(x)[1] if math.isfinite(x) else None, result="int"),
    Function("sincos", "sincos(x, &part)", 4, _LIBRARY["sin"][1]),
    Function("sincos: cosine", "(sincos(x, &part), part)", 4, _LIBRARY["cos"][1]),
    _one("degrees", None, _constant(lambda: 180 / mpmath.pi)),
    _one("radians", None, _constant(lambda: mpmath.pi / 180)),
    *(_one(f"native_{name}", None, _LIBRARY[name][1]) for name in _NATIVE),
    *(_one(f"half_{name}", 8192, _LIBRARY[name][1]) for name in _NATIVE), _one("native_recip", None, _reciprocal),
    _one("half_recip", 8192, _reciprocal), Function("1 / x", "1.0f / x", 2.5, _reciprocal),
    *(Function(name, f"{name}(x)", 0, value, result="int") for name, value in {
        "isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite,
        "isnormal": lambda x: math.isfinite(x) and abs(x) >= 2.0**-126, "signbit": lambda x: exact.sign(x) < 0,
    }.items()),
]


def _relation(holds: Callable[[float, float], bool]) -> Callable[[float, float], int]:
    return lambda x, y: int(holds(x, y))


def _fdim(x: float, y: float) -> object:
    if math.isnan(x) or math.isnan(y):
        return NAN
    return (mpf(x) - mpf(y) if math.isfinite(x) and math.isfinite(y) else x - y) if x > y else 0.0


TWO = [
    _two("atan2", 6, exact.atan2), _two("atan2pi", 6, exact.atan2_pi), _two("pow", 16, exact.power),
    _two("powr", 16, exact.powr), _two("native_powr", None, exact.powr), _two("half_powr", 8192, exact.powr),
    _two("hypot", 4, exact.hypot), _two("fmod", 0, exact.fmod),
    _two("remainder", 0, lambda x, y: exact.remquo(x, y)[0]),
    Function("remquo", "remquo(x, y, &whole)", 0, lambda x, y: exact.remquo(x, y)[0], "xy"),
    Function("remquo: quotient", "(remquo(x, y, &whole), whole)", 0,
             lambda x, y: None if math.isnan(exact.fmod(x, y)) else exact.remquo(x, y)[1], "xy", "int"),
    _two("fmin", 0, lambda x, y: exact.extreme(x, y, min)), _two("fmax", 0, lambda x, y: exact.extreme(x, y, max)),
    _two("maxmag", 0, lambda x, y: exact.magnitude(x, y, max, max)),
    _two("minmag", 0, lambda x, y: exact.magnitude(x, y, min, min)), _two("fdim", 0.5, _fdim),
    _two("copysign", 0, math.copysign), _two("nextafter", 0, exact.next_after),
    Function("x / y", "x / y", 2.5, exact.quotient, "xy"), _two("native_divide", None, exact.quotient),
    _two("half_divide", 8192, exact.quotient), _two("step", 0, lambda x, y: 0.0 if y < x else 1.0),
    *(_two(name, 0, _relation(holds), result="int") for name, holds in {
        "isequal": lambda x, y: x == y, "isnotequal": lambda x, y: x != y, "isgreater": lambda x, y: x > y,
        "isgreaterequal": lambda x, y: x >= y, "isless": lambda x, y: x < y, "islessequal": lambda x, y: x <= y,
        "islessgreater": lambda x, y: x < y or x > y, "isordered": lambda x, y: not math.isnan(x) and not math.isnan(y),
        "isunordered": lambda x, y: math.isnan(x) or math.isnan(y),
    }.items()),
]

THREE = [
    Function("fma", "fma(x, y, z)", 0.5, exact.fma, "xyz"),
    Function("mad", "mad(x, y, z)", None, exact.fma, "xyz"),
    Function("bitselect", "bitselect(x, y, z)", 0, exact.bit_select, "xyz"),
    Function("select", "select(x, y, (int)(z > 0))", 0, lambda x, y, z: y if z > 0 else x, "xyz"),
]

WITH_INT = [
    Function("pown", "pown(x, n)", 16, lambda x, n: 1.0 if n == 0 else exact.power(x, float(n)), "xn"),
    Function("rootn", "rootn(x, n)", 16, exact.rootn, "xn"),
    Function("ldexp", "ldexp(x, n)", 0.5, exact.scaled, "xn"),
]

FUNCTIONS = [*ONE, *TWO, *THREE, *WITH_INT]
