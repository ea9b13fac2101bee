"""Operands for the floating-point units, and the comparison with Berkeley SoftFloat, bit by bit and flag by flag.

softfloatpy is built with SoftFloat's RISC-V specialisation (tests/sim/machine/golden/test_fp.py holds that), so nothing
is translated in between.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
import softfloatpy as sf
from numpy.typing import NDArray

U32 = NDArray[np.uint32]

NX, UF, OF, DZ, NV = (1 << k for k in range(5))
ONE = 0x3F800000
#: Drawn operands of an operation, beside the edges: the first in `make check`, all in `make test-long`.
COUNTS = [1_000, pytest.param(20_000, marks=pytest.mark.long), pytest.param(1_000_000, marks=pytest.mark.long)]
#: SoftFloat's rounding modes have RISC-V's numbers.
MODES = {"RNE": 0, "RTZ": 1, "RDN": 2, "RUP": 3, "RMM": 4}

_POSITIVE = [
    *(0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF),  # zero and subnormal numbers
    *(0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0xC000000),  # around the smallest normal one
    *(0x1F800000, 0x1FFFFFFF, 0x20000000, 0x337FFFFF, 0x33800000, 0x34000000),  # products are tiny, or addends
    *(0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x3FFFFFFF, 0x40000000),
    *(0x40400000, 0x40490FDB, 0x4AFFFFFF, 0x4B000000, 0x4B000001, 0x4B7FFFFF, 0x4B800000),  # 2**23, 2**24
    *(0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000, 0x5F7FFFFF, 0x5F800000),  # 2**31, 2**32; products overflow
    *(0x7E800000, 0x7EFFFFFF, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF),  # up to the largest
    *(0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF),  # infinity, signalling and quiet NaNs
]
EDGES = np.array([bits | sign for bits in _POSITIVE for sign in (0, 0x80000000)], np.uint32)
#: For triples. 27 of them.
FEW_EDGES = np.array([
    0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x807FFFFF, 0x800000, 0x80800000, 0x1F800000, 0x33800000, 0xB3800001,
    0x3F7FFFFF, 0x3F800000, 0xBF800000, 0x3F800001, 0xBF800002, 0x3FFFFFFF, 0xC0400000, 0x4B800000, 0x5F800000,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFC00001,
], np.uint32)


def bits(encodings: NDArray[np.integer]) -> U32:
    """The low 32 bits."""
    return (encodings & 0xFFFFFFFF).astype(np.uint32)


def value(encodings: U32) -> NDArray[np.float64]:
    """What each encodes."""
    with np.errstate(invalid="ignore"):
        return encodings.view(np.float32).astype(np.float64)


def near(rng: np.random.Generator, values: NDArray[np.float64], ulps: int) -> U32:
    """The encodings of ``values``, each moved by up to ``ulps`` units in the last place."""
    with np.errstate(all="ignore"):
        encodings = values.astype(np.float32).view(np.uint32).astype(np.int64)
    return bits(encodings + rng.integers(-ulps, ulps + 1, values.shape))


def floats(rng: np.random.Generator, count: int) -> U32:
    """Any encoding; few significand bits at medium exponents (ties); around powers of two; subnormal of any length."""
    any_bits = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    sign = rng.integers(0, 2, count) << 31
    sparse = sign | rng.integers(127 - 14, 127 + 14, count) << 23 | (
        rng.integers(0, 1 << 23, count) & rng.choice([0x7F0000, 0x400003, 0x7FF000, 0x7], count))
    powers = (any_bits & 0xFF800000) + rng.integers(-4, 5, count)
    subnormal = sign | rng.integers(0, 1 << 23, count) >> rng.integers(0, 23, count)
    return bits(np.choose(rng.integers(0, 5, count), [any_bits, any_bits, sparse, powers, subnormal]))


def numbers(rng: np.random.Generator, count: int) -> U32:
    """Finite and not zero, of every size."""
    return bits(rng.integers(1, 0x7F800000, count) | rng.integers(0, 2, count) << 31)


def boundaries(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Magnitudes where rounding or range changes: least subnormal, smallest normal, 1, the end of the range."""
    return np.ldexp(rng.choice([1.0, 1.5, 1.0 - 2.0**-25, 1.0 - 2.0**-24], count),
                    rng.choice([-150, -149, -148, -127, -126, 0, 128], count))


def unary(rng: np.random.Generator, count: int) -> tuple[U32, ...]:
    """All edges and ``count`` drawn; among these squares of 12-bit numbers give or take an ulp (exact roots)."""
    roots = np.ldexp(rng.integers(1, 1 << 12, count).astype(np.float64), rng.integers(-40, 40, count))
    drawn = np.where(rng.integers(0, 3, count) == 0, near(rng, roots * roots, 1), floats(rng, count))
    return (np.concatenate([EDGES, drawn]),)


def _pairs(rng: np.random.Generator, count: int) -> tuple[U32, ...]:
    """Of any kind; with a sum that cancels or ties; with a product, or a quotient, at a boundary."""
    a = numbers(rng, count)
    scale = np.ldexp(rng.choice([-1.0, 1.0], count), rng.integers(-27, 3, count))
    kind = rng.integers(0, 4, count)
    with np.errstate(all="ignore"):
        partners = [floats(rng, count), near(rng, value(a) * scale, 2), near(rng, boundaries(rng, count) / value(a), 2),
                    near(rng, value(a) / boundaries(rng, count), 2)]
    return np.where(kind == 0, floats(rng, count), a), np.choose(kind, partners)


def binary(rng: np.random.Generator, count: int) -> tuple[U32, ...]:
    """All pairs of edges and ``count`` drawn ones."""
    crossed = np.array(list(itertools.product(EDGES, EDGES)), np.uint32).T
    return tuple(np.concatenate(part) for part in zip(crossed, _pairs(rng, count), strict=True))


def ternary(rng: np.random.Generator, count: int) -> tuple[U32, ...]:
    """All triples of :data:`FEW_EDGES` and ``count`` drawn ones: of any kind; with an addend that cancels or ties."""
    crossed = np.array(list(itertools.product(FEW_EDGES, FEW_EDGES, FEW_EDGES)), np.uint32).T
    a, b = _pairs(rng, count)
    exponents = rng.choice([0, 0, 0, -60, *range(-50, -44), *range(-27, -20), *range(-3, 4), *range(20, 28), 48], count)
    with np.errstate(all="ignore"):
        c = near(rng, value(a) * value(b) * np.ldexp(rng.choice([-1.0, -1.0, 1.0], count), exponents), 2)
    # An addend of the smallest magnitude makes a product just below or above a boundary, or a tie, fall to one side.
    smallest = rng.choice(np.array([0, 1, 0x80000001, 0x80000000], np.uint32), count)
    c = np.choose(rng.integers(0, 5, count), [c, c, c, smallest, floats(rng, count)])
    return tuple(np.concatenate(part) for part in zip(crossed, (a, b, c), strict=True))


def softfloat(operation: Callable, operands: Sequence[U32], rm: int, kind: type = sf.Float32) -> tuple[U32, U32]:
    """Results and flags of ``operation`` (a function of softfloatpy, or of its objects) on ``operands`` of ``kind``.

    A result is an object of softfloatpy or an int.
    """
    sf.set_tininess_mode(sf.TininessMode.AFTER_ROUNDING)
    sf.set_rounding_mode(sf.RoundingMode(rm))
    results, flags = [], []
    for arguments in zip(*(_objects(kind, operand) for operand in operands), strict=True):
        sf.set_exception_flags(0)
        result = operation(*arguments)
        results.append(int(result) if isinstance(result, int) else int.from_bytes(result.to_bytes(), "big"))
        flags.append(sf.get_exception_flags())
    return np.array(results, np.uint32), np.array(flags, np.uint32)


def _objects(kind: type, operand: U32) -> Iterator:
    data = operand.astype(">u4").tobytes()
    return (kind.from_bytes(data[i:i + 4]) for i in range(0, len(data), 4))


def assert_same(actual: Sequence[U32], expected: Sequence[U32], operands: Sequence[U32], *, label: str, reach: int):
    """Compares results and flags. ``reach``: every flag that must be raised by some operation, or the test is weak."""
    raised = int(np.bitwise_or.reduce(expected[1]))
    assert raised == reach, f"{label}: the operands raise {raised:05b}, not {reach:05b}"
    wrong = np.flatnonzero((actual[0] != expected[0]) | (actual[1] != expected[1]))
    shown = [
        f"{' '.join(f'{operand[i]:08x}' for operand in operands)}: {actual[0][i]:08x} flags {actual[1][i]:05b}, "
        f"not {expected[0][i]:08x} flags {expected[1][i]:05b}"
        for i in wrong[:5]
    ]
    assert not wrong.size, f"{label}: {wrong.size} of {expected[0].size} wrong:\n" + "\n".join(shown)
