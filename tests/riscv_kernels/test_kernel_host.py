"""The numpy side of the kernels: fused multiply-add and the references."""

from fractions import Fraction

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.riscv_kernels.diverge import host as diverge
from metronome.riscv_kernels.host import Buffers, compare, fma32
from metronome.riscv_kernels.psum import host as psum
from metronome.riscv_kernels.sgemm import host as sgemm


def round_to_float32(exact: Fraction) -> np.float32:
    """The nearest float32, ties to even, by trying the neighbours of an approximation."""
    near = np.float32(float(exact))
    candidates = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    return min(candidates, key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(np.uint32)) & 1))


def check_fma(a, b, c, seed):
    got = fma32(a, b, c)
    for index in range(len(a)):
        exact = Fraction(float(a[index])) * Fraction(float(b[index])) + Fraction(float(c[index]))
        assert got[index] == round_to_float32(exact), f"seed {seed}: {a[index]!r} * {b[index]!r} + {c[index]!r}"


def test_fma_rounds_once():
    seed = 11
    rng = np.random.default_rng(seed)
    count = 2000
    a, b = (rng.standard_normal(count).astype(np.float32) for _ in range(2))
    # Addends from far below to far above the product, cancellation included.
    c = (-(a.astype(np.float64) * b) * 2.0 ** rng.integers(-60, 60, count)).astype(np.float32)
    check_fma(a, b, c, seed)


def test_fma_decides_ties_by_what_lies_far_below():
    """Products that are halfway between two float32, with an addend too small for float64 to see."""
    seed = 12
    rng = np.random.default_rng(seed)
    count = 500
    a = (1 + rng.integers(0, 1 << 11, count) * 2.0**-11 * 2 + 2.0**-12).astype(np.float32)
    b = (1 + rng.integers(0, 1 << 11, count) * 2.0**-11 + 2.0**-12).astype(np.float32)
    c = (rng.choice([-1.0, 1.0], count) * 2.0**-80).astype(np.float32)
    doubled = (a.astype(np.float64) * b + c).astype(np.float32)
    assert np.any(doubled != fma32(a, b, c)), "no operand here tells one rounding from two"
    check_fma(a, b, c, seed)


def test_sgemm_reference_is_the_product():
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-9, 9, (7, 7)) for _ in range(2))
    for kind in (np.int32, np.float32):
        assert np.array_equal(sgemm.reference(a.astype(kind), b.astype(kind)), (a @ b).astype(kind))


def test_psum_reference_is_the_prefix_sum():
    values = np.random.default_rng(4).integers(-99, 99, 37)
    for kind in (np.int32, np.float32):
        for block in (1, 2, 8, 12, 64):
            assert np.array_equal(psum.reference(values.astype(kind), block), np.cumsum(values).astype(kind))


def one_by_one(key: int, value: int) -> tuple[int, int]:
    """The kernel's text for one element, in plain Python (values small enough not to wrap)."""
    if key & 1:
        if key & 2:
            value = value * 3 + 1
            if key & 4:
                value -= 7
        else:
            value -= 5
    else:
        for turn in range(key >> 1 & 7):
            value = value + 11 if key >> (turn + 4) & 1 else value * 2
    number, steps = (key >> 8 & 63) + 1, 0
    while number != 1 and steps < 40:
        number = number * 3 + 1 if number & 1 else number >> 1
        steps += 1
    for outer in range(key >> 16 & 3):
        value += outer - 3
    return value, steps


def test_diverge_reference_follows_the_keys():
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 1 << 32, 500, np.uint32)
    values = rng.integers(-1000, 1000, 500)
    expected = [one_by_one(key, value) for key, value in zip(keys.tolist(), values.tolist(), strict=True)]
    for kind in (np.int32, np.float32):
        target, steps = diverge.reference(keys, values.astype(kind))
        assert target.tolist() == [value for value, _ in expected]
        assert steps.tolist() == [steps for _, steps in expected]


@pytest.mark.parametrize(("values", "what"), [
    ([1, 2], "must be a numpy array, not list"), (np.zeros(3), "one of int32, uint32, float32, not float64"),
    (np.zeros((2, 2), object), "not object"), (np.zeros(4, np.int8), "not int8"), (np.zeros(4, ">i4"), "not >i4"),
])
def test_what_is_no_buffer_is_refused(values, what):
    with pytest.raises(TypeError, match=rf"^buffer 'in' .*{what}"):
        Buffers(TINY).place("in", values)
    with pytest.raises(TypeError, match=rf"^the expected value of 'in' .*{what}"):
        compare(lambda address, count: bytes(count), "in", 0, values)


def test_a_name_is_given_once():
    buffers = Buffers(TINY)
    buffers.place("in", np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"^buffer 'in' is placed twice"):
        buffers.place("in", np.zeros(3, np.float32))
