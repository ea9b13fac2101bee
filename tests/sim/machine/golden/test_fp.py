"""The golden model's floating point against Berkeley SoftFloat: every operation and rounding mode, bit by bit.

SoftFloat works on integers and shares no method with sim.machine.golden.fp, which works on float64. softfloatpy 1.2 is
built with SoftFloat's RISC-V specialisation (canonical NaN, RISC-V saturation), so nothing is translated in between;
`test_reference_is_risc_v` fails if another build is installed. fmin, fmax and fclass, which SoftFloat lacks, are
composed of its quiet comparisons and NaN tests; to-integer values are computed once more with exact rationals.
"""

import itertools
import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
import softfloatpy as sf
from numpy.typing import NDArray

from metronome.sim.machine.golden import fp
from tests.support.tiers import slow_then_more, some_long, some_more, some_slow

U32 = NDArray[np.uint32]
SEED = 20240611
RANDOM = 6_000  # operands of each of several random kinds: more than 20 000 in all
PIECE = 128

_POSITIVE_EDGES = [
    *(0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF),  # zero and subnormals
    *(0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x1000001, 0xC000000),  # around the smallest normal
    *(0x1FFFFFFF, 0x20000000, 0x20000001, 0x1F800000, 0x34000000, 0x33800000, 0x33800001, 0x337FFFFF),  # products tiny
    *(0x3E800000, 0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F7FFFFE, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3F800002),
    *(0x3FC00000, 0x3FFFFFFF, 0x40000000, 0x40200000, 0x40400000, 0x40600000, 0x40490FDB, 0x5F7FFFFF, 0x5F800000),
    *(0x4A7FFFFF, 0x4AFFFFFF, 0x4B000000, 0x4B000001, 0x4B7FFFFF, 0x4B800000, 0x4B800001),  # 2**22 .. 2**24
    *(0x4EFFFFFF, 0x4F000000, 0x4F000001, 0x4F7FFFFF, 0x4F800000, 0x4F800001, 0x5F000000),  # 2**31, 2**32, 2**63
    *(0x7E7FFFFF, 0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF),  # up to the largest
    *(0x7F800000, 0x7F800001, 0x7FA00000, 0x7FBFFFFF, 0x7FC00000, 0x7FC00001, 0x7FFFFFFF),  # inf, sNaN, qNaN
]
EDGES = np.array([bits | sign for bits in _POSITIVE_EDGES for sign in (0, 0x80000000)], np.uint32)
FEW_EDGES = np.concatenate([EDGES[::6], EDGES[3::10], np.array([0, 1, 0x7FC00000, 0x7F800001, 0x7F800000], np.uint32)])


def floats(rng: np.random.Generator, count: int) -> U32:
    """`count` of each kind: any encoding; medium exponents with few significand bits (ties); significands near 2**k."""
    any_bits = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    sign_exponent = rng.integers(0, 2, count) << 31 | rng.integers(127 - 14, 127 + 14, count) << 23
    sparse = sign_exponent | (rng.integers(0, 1 << 23, count) & rng.choice([0x7F0000, 0x400003, 0x7FF000, 0x7], count))
    near = (any_bits & 0xFF800000) + rng.integers(-4, 5, count)
    return _bits(np.concatenate([any_bits, sparse, near]))


def _bits(encodings: NDArray[np.integer]) -> U32:
    return (encodings & 0xFFFFFFFF).astype(np.uint32)


def _nudged(rng: np.random.Generator, values: NDArray[np.float64], ulps: int) -> U32:
    """The nearest binary32 encodings of `values`, each moved by up to `ulps` units in the last place."""
    with np.errstate(all="ignore"):
        encodings = values.astype(np.float32).view(np.uint32).astype(np.int64)
    return _bits(encodings + rng.integers(-ulps, ulps + 1, values.shape))


def _numbers(rng: np.random.Generator, count: int) -> tuple[U32, NDArray[np.float64]]:
    """Finite nonzero numbers of every size, as encodings and as values."""
    bits = _bits(rng.integers(1, 0x7F800000, count) | rng.integers(0, 2, count) << 31)
    return bits, bits.view(np.float32).astype(np.float64)


def _thresholds(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Magnitudes where rounding or range changes: least subnormals, smallest normal, 1, the end of the range."""
    return np.ldexp(rng.choice([1.0, 1.5, 1.0 - 2.0**-25], count), rng.choice([-150, -149, -148, -127, -126, 0, 128]))


def unary(rng: np.random.Generator) -> tuple[U32, ...]:
    """One operand: edges, random, and squares of 12-bit numbers give or take an ulp (exact roots)."""
    roots = np.ldexp(rng.integers(1, 1 << 12, RANDOM).astype(np.float64), rng.integers(-40, 40, RANDOM))
    return (np.concatenate([EDGES, floats(rng, RANDOM), _nudged(rng, roots * roots, 1)]),)


def binary(rng: np.random.Generator) -> tuple[U32, ...]:
    """Crossed edges; random pairs; sums that cancel or tie; products and quotients at the thresholds of the format."""
    crossed = np.array(list(itertools.product(EDGES, EDGES)), np.uint32).T
    drawn = floats(rng, RANDOM), rng.permutation(floats(rng, RANDOM))
    bits, values = _numbers(rng, RANDOM)
    scale = np.ldexp(rng.choice([-1.0, 1.0], RANDOM), rng.integers(-27, 3, RANDOM))
    with np.errstate(all="ignore"):
        near_sum = _nudged(rng, values * scale, 2)
        near_product = _nudged(rng, _thresholds(rng, RANDOM) / values, 2)
        near_quotient = _nudged(rng, values / _thresholds(rng, RANDOM), 2)
    return (
        np.concatenate([crossed[0], drawn[0], bits, bits, bits]),
        np.concatenate([crossed[1], drawn[1], near_sum, near_product, near_quotient]),
    )


def ternary(rng: np.random.Generator) -> tuple[U32, ...]:
    """Crossed edges; random triples; products at the thresholds with an addend that cancels, ties or barely counts."""
    crossed = np.array(list(itertools.product(FEW_EDGES, FEW_EDGES, FEW_EDGES)), np.uint32).T
    a, b = binary(rng)
    some = rng.permutation(a.size)[: 2 * RANDOM]
    drawn = floats(rng, RANDOM), rng.permutation(floats(rng, RANDOM)), rng.permutation(floats(rng, RANDOM))
    with np.errstate(all="ignore"):
        product = a[some].view(np.float32).astype(np.float64) * b[some].view(np.float32).astype(np.float64)
        exponents = rng.choice([0, 0, -60, -26, -25, -24, -23, 24, 25, 26], some.size)
        c = _nudged(rng, -product * np.ldexp(rng.choice([-1.0, 1.0], some.size), exponents), 2)
    # An addend of the smallest magnitude makes a product just below or above a boundary, or a tie, fall to one side.
    c = np.where(rng.random(some.size) < 0.3, rng.choice(_bits(np.array([1, 0x80000001, 0x80000000])), some.size), c)
    return tuple(np.concatenate([crossed[i], drawn[i], (a[some], b[some], c)[i]]) for i in range(3))


def integers(rng: np.random.Generator) -> tuple[U32, ...]:
    """Integers of every length, and those within 3 of 2**k, of ties between floats, and of their negatives."""
    lengths = rng.integers(0, 33, 2 * RANDOM)
    drawn = rng.integers(0, 1 << 32, 2 * RANDOM) >> lengths
    powers = np.array([(1 << k) + d for k in range(33) for d in range(-3, 4)])
    significands = ((1 << 23), (1 << 23) + 1, (1 << 24) - 1)
    ties = np.array([(2 * n + 1 << s) + d for s in range(8) for n in significands for d in (-1, 0, 1)])
    all_of_them = np.concatenate([drawn, powers, ties])
    return (_bits(np.concatenate([all_of_them, -all_of_them])),)


def _objects(kind: type, operand: U32) -> list:
    data = operand.astype(">u4").tobytes()
    return [kind.from_bytes(data[i : i + 4]) for i in range(0, len(data), 4)]


def _reference(
    operation: Callable, operands: Sequence[U32], rm: int, kind: type = sf.Float32
) -> tuple[list, list[int]]:
    """The results (softfloatpy objects, or whatever `operation` returns) and flags of SoftFloat, element by element."""
    assert operands[0].size >= 20_000
    sf.set_tininess_mode(sf.TininessMode.AFTER_ROUNDING)
    sf.set_rounding_mode(sf.RoundingMode(rm))
    results, flags = [], []
    for arguments in zip(*(_objects(kind, operand) for operand in operands), strict=True):
        sf.set_exception_flags(0)
        results.append(operation(*arguments))
        flags.append(sf.get_exception_flags())
    return results, flags


def _encodings(results: list) -> U32:
    return np.frombuffer(b"".join(result.to_bytes() for result in results), ">u4").astype(np.uint32)


def _assert_same(operation: Callable, operands: Sequence[U32], bits: U32, flags: list[int], reach: int) -> None:
    """Runs `operation` and compares; `reach` is every flag the operands must raise somewhere, or the test is weak.

    sim.machine.golden.fp has shorter paths for arrays without a special case in any element. So it runs twice: on
    everything at once, and on small pieces, ordered so that many hold nothing but exact zeros and results in the normal
    range, the smallest normal (which may or may not have underflowed) next to its like.
    """
    expected_flags = np.array(flags, np.uint8)
    assert np.bitwise_or.reduce(expected_flags) == reach
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude >= 0x800000) & (magnitude < 0x7F800000)
    order = np.lexsort((expected_flags, magnitude, normal | (expected_flags + magnitude == 0)))

    whole = operation(*operands)
    assert whole[0].dtype == np.uint32 and whole[1].dtype == np.uint8
    _compare(whole, operands, bits, expected_flags)
    cuts = [order[i : i + PIECE] for i in range(0, order.size, PIECE)]
    pieces = [operation(*(operand[cut] for operand in operands)) for cut in cuts]
    joined = tuple(np.concatenate(part) for part in zip(*pieces, strict=True))
    _compare(joined, [operand[order] for operand in operands], bits[order], expected_flags[order])


def _compare(got: Sequence[NDArray], operands: Sequence[U32], bits: U32, flags: NDArray[np.uint8]) -> None:
    wrong = np.flatnonzero((got[0] != bits) | (got[1] != flags))
    shown = [
        f"{' '.join(f'{operand[i]:08x}' for operand in operands)}: {got[0][i]:08x} flags {got[1][i]:05b}, "
        f"not {bits[i]:08x} flags {flags[i]:05b}"
        for i in wrong[:5]
    ]
    assert not wrong.size, f"seed {SEED}: {wrong.size} of {bits.size} wrong:\n" + "\n".join(shown)


def test_reference_is_risc_v() -> None:
    """SoftFloat's specialisations differ in these results (8086-SSE: FFC00000 and 80000000)."""
    one, qnan, minus_inf = _objects(sf.Float32, np.array([0x3F800000, 0xFFC12345, 0xFF800000], np.uint32))
    assert sf.f32_add(one, qnan).to_bytes().hex() == "7fc00000"
    assert sf.f32_to_i32(qnan, sf.RoundingMode.NEAR_EVEN, True).to_bytes().hex() == "7fffffff"
    assert sf.f32_to_ui32(minus_inf, sf.RoundingMode.NEAR_EVEN, True).to_bytes().hex() == "00000000"


_ROUNDED = fp.NX | fp.UF | fp.OF | fp.NV
ARITHMETIC = {
    "add": (fp.add, sf.f32_add, binary, fp.NX | fp.OF | fp.NV),  # a tiny sum is exact
    "sub": (fp.sub, sf.f32_sub, binary, fp.NX | fp.OF | fp.NV),
    "mul": (fp.mul, sf.f32_mul, binary, _ROUNDED),
    "div": (fp.div, sf.f32_div, binary, _ROUNDED | fp.DZ),
    "sqrt": (fp.sqrt, sf.f32_sqrt, unary, fp.NX | fp.NV),
    "fma": (fp.fma, sf.f32_mul_add, ternary, _ROUNDED),
}


@pytest.mark.parametrize("rm", slow_then_more(fp.Rounding, 1, 2))
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name: str, rm: int, seed: int = SEED) -> None:
    operation, reference, draw, reach = ARITHMETIC[name]
    operands = draw(np.random.default_rng([seed, rm]))
    results, flags = _reference(reference, operands, rm)
    _assert_same(lambda *arrays: operation(*arrays, rm), operands, _encodings(results), flags, reach)


@pytest.mark.more
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_of_more_operands(name: str) -> None:
    for rm in fp.Rounding:
        for seed in range(1, 4):
            test_arithmetic(name, rm, seed)


@pytest.mark.parametrize("rm", some_slow(fp.Rounding, 1))
@pytest.mark.parametrize("signed", [True, False])
def test_from_int(signed: bool, rm: int) -> None:
    operands = integers(np.random.default_rng([SEED, rm]))
    reference, kind = (sf.i32_to_f32, sf.Int32) if signed else (sf.ui32_to_f32, sf.UInt32)
    results, flags = _reference(reference, operands, rm, kind)
    _assert_same(lambda a: fp.from_int(a, rm, signed), operands, _encodings(results), flags, fp.NX)


def _to_int_operands(rng: np.random.Generator) -> tuple[U32, ...]:
    halves = rng.integers(-64, 64, RANDOM) / 4  # ties of both parities, and their neighbours
    sized = np.ldexp(rng.uniform(-2, 2, RANDOM), rng.integers(-3, 34, RANDOM))
    return (np.concatenate([EDGES, floats(rng, RANDOM), _nudged(rng, halves, 1), _nudged(rng, sized, 0)]),)


def _exact_to_int(encoding: int, rm: int, low: int, high: int) -> int:
    """The RISC-V table of saturated results, on exact rationals."""
    value = struct.unpack("f", struct.pack("I", encoding))[0]
    if math.isnan(value) or value == math.inf:
        return high
    if value == -math.inf:
        return low
    exact = Fraction(value)
    away = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact > 0 else -1)
    rounded = [round(exact), math.trunc(exact), math.floor(exact), math.ceil(exact), away][rm]
    return min(max(rounded, low), high)


@pytest.mark.slow
@pytest.mark.parametrize("rm", some_more(fp.Rounding, 2))
@pytest.mark.parametrize("signed", some_long([True, False], 1))
def test_to_int(signed: bool, rm: int) -> None:
    operands = _to_int_operands(np.random.default_rng([SEED, rm]))
    convert = sf.f32_to_i32 if signed else sf.f32_to_ui32
    mode = sf.RoundingMode(rm)
    results, flags = _reference(lambda x: convert(x, mode, True), operands, rm)
    _assert_same(lambda a: fp.to_int(a, rm, signed), operands, _encodings(results), flags, fp.NX | fp.NV)

    low, high = (-(2**31), 2**31 - 1) if signed else (0, 2**32 - 1)
    exact = [_exact_to_int(encoding, rm, low, high) & 0xFFFFFFFF for encoding in operands[0].tolist()]
    np.testing.assert_array_equal(fp.to_int(*operands, rm, signed)[0], exact, err_msg=f"seed {SEED}")


@pytest.mark.parametrize("name", ["eq", "lt", "le"])
def test_compare(name: str) -> None:
    operands = binary(np.random.default_rng(SEED))
    results, flags = _reference({"eq": sf.f32_eq, "lt": sf.f32_lt, "le": sf.f32_le}[name], operands, 0)
    _assert_same(getattr(fp, name), operands, np.array(results, np.uint32), flags, fp.NV)


def _minimum_number(a: sf.Float32, b: sf.Float32, less: Callable) -> bytes:
    """IEEE 754-2019 minimumNumber, or maximumNumber with `less` the other way round, as RISC-V flavours it.

    Every call that may raise the invalid flag is a quiet comparison, which raises it for a signalling NaN only.
    """
    a_is_less, b_is_less = less(a, b), less(b, a)
    if sf.f32_is_nan(a):
        return b"\x7f\xc0\0\0" if sf.f32_is_nan(b) else b.to_bytes()
    if sf.f32_is_nan(b) or a_is_less:
        return a.to_bytes()
    if b_is_less:
        return b.to_bytes()
    negative_zero_first = sorted([a.to_bytes(), b.to_bytes()], reverse=True)  # equal: the same, or zeros of both signs
    return negative_zero_first[0 if less is sf.f32_lt_quiet else 1]


def _greater_quiet(a: sf.Float32, b: sf.Float32) -> bool:
    return sf.f32_lt_quiet(b, a)


@pytest.mark.parametrize(("operation", "less"), [(fp.min_, sf.f32_lt_quiet), (fp.max_, _greater_quiet)])
def test_min_max(operation: Callable, less: Callable) -> None:
    operands = binary(np.random.default_rng(SEED))
    results, flags = _reference(lambda a, b: _minimum_number(a, b, less), operands, 0)
    expected = np.frombuffer(b"".join(results), ">u4").astype(np.uint32)
    _assert_same(operation, operands, expected, flags, fp.NV)


def _class_bit(x: sf.Float32) -> int:
    if sf.f32_is_nan(x):
        return 1 << (8 if sf.f32_is_signaling_nan(x) else 9)
    value = x.to_float()
    names = ["zero", "subnormal", "normal", "infinite"]
    kind = "infinite" if sf.f32_is_inf(x) else "normal" if abs(value) >= 2.0**-126 else "subnormal" if value else "zero"
    return 1 << (3 - names.index(kind) if math.copysign(1, value) < 0 else 4 + names.index(kind))


def test_classify() -> None:
    operands = unary(np.random.default_rng(SEED))
    results, flags = _reference(_class_bit, operands, 0)
    assert set(results) == {1 << k for k in range(10)}
    _assert_same(fp.classify, operands, np.array(results, np.uint32), flags, 0)
