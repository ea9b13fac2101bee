"""Rounding against Berkeley SoftFloat's conversion from double, which holds every input exactly."""

import math
import random
import struct

import pytest
import softfloatpy as sf

from metronome.hdl.execute.fpu.formats import Rounding
from metronome.hdl.execute.fpu.round import Round
from tests.hdl.lib.simulate import simulate, simulated
from tests.support.tiers import slow_then_more

SEED = 32
#: Around every boundary: overflow, the smallest normal, each subnormal length, all gone, and the ends of the field.
EXPONENTS = (-300, -158, *range(-152, -147), -140, *range(-129, -124), 0, 126, 127, 128, 129, 200, 257)
SIGNIFICANDS = (0x800000, 0x800001, 0x800002, 0xC00000, 0xC00001, 0xFFFFFD, 0xFFFFFE, 0xFFFFFF, 0xFFF800)


def normalised(number):
    """As NormaliseSum gives it, with any distance: a number below 2**-126 is shifted to the exponent of that."""
    significand, guard, sticky, exponent, sign = number
    bits = significand << 10 | guard << 9
    below = max(-126 - exponent, 0)
    rest = sticky or bits & (1 << below) - 1 != 0
    distance = (significand * 7 + exponent) % 64
    return {"high": bits >> below, "rest": rest, "exponent": max(exponent + 126, 0) + distance, "distance": distance,
            "sign": sign, "zero": bits == 0 and not sticky}


def reference(rm, number):
    significand, guard, sticky, exponent, sign = number
    magnitude = math.ldexp(significand * 4 + guard * 2 + sticky, exponent - 25)
    sf.set_tininess_mode(sf.TininessMode.AFTER_ROUNDING)
    sf.set_rounding_mode(sf.RoundingMode(rm.value))
    sf.set_exception_flags(0)
    bits = sf.f64_to_f32(sf.Float64.from_bytes(struct.pack(">d", -magnitude if sign else magnitude))).to_bytes()
    return int.from_bytes(bits, "big"), sf.get_exception_flags()


def check(rm, numbers):
    part = Round()

    async def testbench(ctx):
        ctx.set(part.control, {"rm": rm})
        reached = 0
        for number in numbers:
            significand, guard, sticky, exponent, sign = number
            ctx.set(part.exact, normalised(number))
            actual = ctx.get(part.result), ctx.get(part.flags).as_bits()
            expected = reference(rm, number)
            assert actual == expected, (
                f"seed {SEED}: {rm.name} {significand:#x} guard {guard} sticky {sticky} exponent {exponent} sign {sign}"
                f": {actual[0]:08x} {actual[1]:05b}, not {expected[0]:08x} {expected[1]:05b}")
            reached |= expected[1]
        assert reached == 0b00111, "the numbers do not reach every flag"

    simulate(part, testbench)


@pytest.mark.parametrize("rm", slow_then_more(Rounding, 1, 2))
def test_edges(rm):
    rests = [(sign, guard, sticky) for sign in (0, 1) for guard in (0, 1) for sticky in (0, 1)]
    numbers = [(significand, guard, sticky, exponent, sign)
               for exponent in EXPONENTS for significand in SIGNIFICANDS for sign, guard, sticky in rests]
    # Zero, whatever its exponent.
    check(rm, numbers + [(0, 0, 0, exponent, sign) for exponent in EXPONENTS for sign in (0, 1)])


@pytest.mark.parametrize("rm", slow_then_more(Rounding, 1, 2))
def test_random(rm):
    rng = random.Random(SEED)
    numbers = []
    for _ in range(1000):
        low = rng.randrange(1, 24)
        # Few significant bits, or many trailing ones: what lies on a tie after a denormalising shift.
        significand = rng.choice((rng.getrandbits(24), rng.getrandbits(24) >> low << low,
                                  rng.getrandbits(24) | (1 << low) - 1)) | 1 << 23
        exponent = rng.choice((rng.randrange(-160, 132), rng.randrange(-151, -124), rng.randrange(-300, 258)))
        numbers.append((significand, rng.getrandbits(1), rng.getrandbits(1), exponent, rng.getrandbits(1)))
    check(rm, numbers)


@pytest.mark.parametrize(("special", "bits", "flags"), [
    ({"nan": 1}, 0x7FC00000, 0), ({"nan": 1, "invalid": 1}, 0x7FC00000, 16), ({"nan": 1, "sign": 1}, 0x7FC00000, 0),
    ({"infinite": 1}, 0x7F800000, 0), ({"infinite": 1, "sign": 1}, 0xFF800000, 0),
    ({"infinite": 1, "divide_by_zero": 1}, 0x7F800000, 8),
])
@simulated(Round)
async def test_special_results_hide_the_number(ctx, part, special, bits, flags):
    """Its flags, too: the number is one that overflows, or one that underflows."""
    ctx.set(part.special, special)
    for exponent in (300, -140):
        ctx.set(part.exact, normalised((0xFFFFFF, 1, 1, exponent, 1)))
        assert ctx.get(part.result) == bits
        assert ctx.get(part.flags).as_bits() == flags
