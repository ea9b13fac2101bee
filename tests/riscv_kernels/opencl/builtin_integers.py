"""Integer functions and conversions of OpenCL C: calls, and exact results in Python's integers."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

#: Name -> bits, whether it has a sign.
TYPES = {
    "char": (8, True), "uchar": (8, False), "short": (16, True), "ushort": (16, False),
    "int": (32, True), "uint": (32, False), "long": (64, True), "ulong": (64, False),
}
MODES = ("", "_rte", "_rtz", "_rtp", "_rtn")
WORD = (1 << 64) - 1


def least(kind: str) -> int:
    bits, sign = TYPES[kind]
    return -(1 << (bits - 1)) if sign else 0


def most(kind: str) -> int:
    bits, sign = TYPES[kind]
    return (1 << (bits - sign)) - 1


def wrapped(kind: str, value: int) -> int:
    bits, _ = TYPES[kind]
    return (value - least(kind)) % (1 << bits) + least(kind)


def limited(kind: str, value: int) -> int:
    return min(max(value, least(kind)), most(kind))


def integer_calls(kind: str) -> dict[str, Callable[[int, int, int], int]]:
    """Expressions in x, y, z of a type, and their values."""
    bits, sign = TYPES[kind]
    unsigned = f"u{kind}" if sign else kind
    whole = 1 << bits
    mask = kind if sign else kind[1:]
    calls: dict[str, Callable[[int, int, int], int]] = {
        "abs(x)": lambda x, y, z: abs(x), "abs_diff(x, y)": lambda x, y, z: abs(x - y),
        "add_sat(x, y)": lambda x, y, z: limited(kind, x + y), "sub_sat(x, y)": lambda x, y, z: limited(kind, x - y),
        "hadd(x, y)": lambda x, y, z: (x + y) >> 1, "rhadd(x, y)": lambda x, y, z: (x + y + 1) >> 1,
        "min(x, y)": lambda x, y, z: min(x, y), "max(x, y)": lambda x, y, z: max(x, y),
        "clamp(x, min(y, z), max(y, z))": lambda x, y, z: min(max(x, min(y, z)), max(y, z)),
        "mul_hi(x, y)": lambda x, y, z: (x * y) >> bits,
        "mad_hi(x, y, z)": lambda x, y, z: wrapped(kind, ((x * y) >> bits) + z),
        "mad_sat(x, y, z)": lambda x, y, z: limited(kind, x * y + z),
        "rotate(x, y)": lambda x, y, z: wrapped(kind, (x % whole) << (y % bits) | (x % whole) >> (bits - y % bits)),
        "clz(x)": lambda x, y, z: bits - (x % whole).bit_length(),
        "popcount(x)": lambda x, y, z: (x % whole).bit_count(),
        "bitselect(x, y, z)": lambda x, y, z: wrapped(kind, (x & ~z) | (y & z)),
        f"select(x, y, ({mask})(z & 1))": lambda x, y, z: y if z & 1 else x,
        f"select(x, y, (u{mask})(z & 2))": lambda x, y, z: y if z & 2 else x,
    }
    if bits == 32:
        low = "& 0xffffff" if not sign else ">> 8"
        part = (lambda v: v >> 8) if sign else (lambda v: v & 0xFFFFFF)
        calls[f"mul24(x {low}, y {low})"] = lambda x, y, z: wrapped(kind, part(x) * part(y))
        calls[f"mad24(x {low}, y {low}, z)"] = lambda x, y, z: wrapped(kind, part(x) * part(y) + z)
    if bits < 64:
        calls[f"upsample(x, ({unsigned})y)"] = lambda x, y, z: (x << bits) | (y % whole)
    if sign:
        calls["any(x)"] = lambda x, y, z: int(x < 0)
        calls["all(x)"] = lambda x, y, z: int(x < 0)
    return calls


def rounded(value: Fraction, mode: str) -> int:
    return {"_rte": round, "": math.trunc, "_rtz": math.trunc, "_rtp": math.ceil, "_rtn": math.floor}[mode](value)


def to_float(value: int, mode: str) -> float:
    """The float32 next to an integer, in a mode."""
    places = max(abs(value).bit_length() - 24, 0)
    return float(rounded(Fraction(value, 1 << places), mode or "_rte")) * 2.0**places


def conversions(source: str) -> Iterator[tuple[str, Callable[[float], int | None]]]:
    """Calls of x of a type, and the 64-bit word of the value; None where OpenCL leaves it open."""
    for target in [*TYPES, "float"]:
        for mode in MODES:
            for sat in ("", "_sat") if target != "float" else ("",):
                yield f"convert_{target}{sat}{mode}(x)", _conversion(source, target, mode, bool(sat))


def _conversion(source: str, target: str, mode: str, sat: bool) -> Callable[[float], int | None]:
    def value(x: float) -> int | None:
        if target == "float":
            number = x if source == "float" else to_float(int(x), mode)
            return None if math.isnan(number) else int(np.array(number, np.float32).view(np.uint32))
        if math.isnan(x):
            return 0 if sat else None
        if math.isinf(x):
            return (most(target) if x > 0 else least(target)) & WORD if sat else None
        whole = rounded(Fraction(x), mode)
        inside = limited(target, whole)
        if sat:
            return inside & WORD
        if source == "float":
            return whole & WORD if inside == whole else None
        return wrapped(target, whole) & WORD

    return value


def integers_of(kind: str, rng: np.random.Generator, count: int) -> list[int]:
    """Edges of every type of at most so many bits, and random values of any length."""
    bits, _ = TYPES[kind]
    edges = {
        0, 1, 2, 3, 7, 100, 127, 128, 255, 256, 2**15, 2**16, 2**23, 2**24, 2**24 + 1, 2**24 + 3, 2**25 + 2, 2**31 - 64,
        2**31 - 1, 2**31, 2**32 - 128, 2**32, 2**39 + 2**15, 2**39 + 2**15 + 1, 2**40 - 1, 2**53, 2**62, 2**63 - 1,
        2**63, 2**64 - 1,
    }
    near = {edge + step for edge in edges for step in (-1, 0, 1)}
    near |= {-edge for edge in near}
    chosen = sorted({value for value in near if least(kind) <= value <= most(kind)})
    drawn = [int(rng.integers(0, 1 << 32)) << 32 | int(rng.integers(0, 1 << 32)) for _ in range(count)]
    signs = (1,) if kind[0] == "u" else (1, -1)
    return chosen + [wrapped(kind, value >> int(rng.integers(64 - bits, 64))) * int(rng.choice(signs))
                     for value in drawn]


_WIDE_HEAD = """__kernel void k(__global const uint *x_low, __global const uint *x_high, __global const uint *y_low,
                __global const uint *y_high, __global const uint *z_low, __global const uint *z_high,
                __global uint *out, uint n)
{{
    const uint i = get_global_id(0);
    const {0} x = ({0})((ulong)x_high[i] << 32 | x_low[i]);
    const {0} y = ({0})((ulong)y_high[i] << 32 | y_low[i]), z = ({0})((ulong)z_high[i] << 32 | z_low[i]);
    ulong r;
"""
_FLOAT_HEAD = """__kernel void k(__global const float *in, __global uint *out, uint n)
{
    const uint i = get_global_id(0);
    const float x = in[i];
    ulong r;
"""


def source_of(kind: str, calls: list[str]) -> str:
    """A kernel that gives the low and the high words of all calls."""
    lines = []
    for row, call in enumerate(calls):
        value = f"as_uint({call})" if call.startswith("convert_float") else f"(ulong)({call})"
        place = 2 * row
        lines.append(f"    r = {value};")
        lines += [f"    out[{place} * n + i] = (uint)r;", f"    out[{place + 1} * n + i] = r >> 32;"]
    head = _FLOAT_HEAD if kind == "float" else _WIDE_HEAD.format(kind)
    return head + "\n".join(lines) + "\n}\n"


def words_of(values: list[int]) -> list[np.ndarray]:
    """Their low and their high words."""
    words = np.array([value & WORD for value in values], np.uint64)
    return [(words & np.uint64(0xFFFFFFFF)).astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)]
