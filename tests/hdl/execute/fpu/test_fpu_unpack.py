"""Normalising, shifting with a sticky bit and unpacking, against arithmetic on Python's integers and floats."""

import random
from fractions import Fraction

import pytest
from amaranth.hdl import Module, Signal

from metronome.hdl.execute.fpu.shift import Normalise, shift_right_sticky
from metronome.hdl.execute.fpu.unpack import Unpack
from tests.hdl.lib.simulate import drive, simulate, simulated
from tests.support.tiers import some_slow

SEED = 31
EDGES = (0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000,
         0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF)


@pytest.mark.parametrize("width", some_slow([2, 5, 24, 52], 2))
@simulated(lambda width: Normalise(width=width))
async def test_normalise(ctx, part, width):
    rng = random.Random(SEED)
    values = [1 << k for k in range(width)] + [(1 << k + 1) - 1 for k in range(width)]
    values += [0, *(rng.getrandbits(width) >> rng.randrange(width) for _ in range(500))]
    for value in values:
        ctx.set(part.value, value)
        for room in (None, rng.randrange(1 << len(part.room)), rng.randrange(1 << len(part.room))):
            drive(ctx, part, free=room is None, room=rng.getrandbits(8) if room is None else room)
            zeros = width - value.bit_length() if value else (1 << len(part.distance)) - 1
            distance = zeros if room is None else min(zeros, room)
            assert (ctx.get(part.distance), ctx.get(part.normalised)) == (
                distance, value << distance & (1 << width) - 1), (
                f"seed {SEED}: {value:#x} of {width} bits, room {room}")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "bits"), [(1, 1), (7, 3), (25, 5), (50, 6), (64, 6), (9, 3)])
def test_shift_right_sticky(width, bits):
    rng = random.Random(SEED)
    m = Module()
    value, distance, shifted, sticky = Signal(width), Signal(bits), Signal(width), Signal()
    results = shift_right_sticky(m, value, distance)
    m.d.comb += [shifted.eq(results[0]), sticky.eq(results[1])]
    values = [0, (1 << width) - 1, *(1 << k for k in range(width)), *(rng.getrandbits(width) for _ in range(20))]

    async def testbench(ctx):
        for given in values:
            for by in range(1 << bits):
                ctx.set(value, given)
                ctx.set(distance, by)
                expected = given >> by, int(given >> by << by != given)
                assert (ctx.get(shifted), ctx.get(sticky)) == expected, f"seed {SEED}: {given:#x} >> {by}"

    simulate(m, testbench)


@pytest.mark.slow
@simulated(Unpack)
async def test_unpack(ctx, part):
    """Value and classes by the definition of the format (IEEE 754-2019, 3.4), subnormal numbers of every length."""
    rng = random.Random(SEED)
    positive = [*EDGES, *(1 << k for k in range(32)), *(rng.getrandbits(23) >> rng.randrange(23) for _ in range(300)),
                *(rng.getrandbits(31) for _ in range(2000))]
    for bits in positive + [bits | 1 << 31 for bits in positive]:
        ctx.set(part.bits, bits)
        value = ctx.get(part.value)
        text = f"seed {SEED}: {bits:#010x}: {value}"
        exponent, fraction = bits >> 23 & 0xFF, bits & 0x7FFFFF
        assert value.sign == bits >> 31, text
        assert value.zero == (exponent == 0 and fraction == 0), text
        assert value.infinite == (exponent == 255 and fraction == 0), text
        assert value.nan == (exponent == 255 and fraction != 0), text
        assert value.signalling == (exponent == 255 and 0 < fraction < 0x400000), text
        assert value.exponent >= 1, text
        if exponent < 255:
            exact = Fraction(fraction, 2**149) if exponent == 0 else (
                Fraction(2**23 + fraction, 2**23) * Fraction(2) ** (exponent - 127))
            assert value.significand >> 23 == (exponent > 0), text
            assert Fraction(value.significand, 2**23) * Fraction(2) ** (value.exponent - 127) == exact, text
