"""The steps of the fused multiply-add, each against exact arithmetic on rationals."""

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from metronome.hdl.execute.fpu.formats import Rounding
from metronome.hdl.execute.fpu.product import Multiply, SelectTerms
from metronome.hdl.execute.fpu.sum import Add, Align, NormaliseSum
from metronome.hdl.isa.ops import FmaOp

SEED = 35
SIGN = 1 << 31


def run(module, testbench):
    sim = Simulator(module)
    sim.add_testbench(testbench)
    sim.run()


@pytest.mark.parametrize(("op", "terms"), [
    (FmaOp.FMADD, lambda a, b, c: (a, b, c)), (FmaOp.FMSUB, lambda a, b, c: (a, b, c ^ SIGN)),
    (FmaOp.FNMSUB, lambda a, b, c: (a ^ SIGN, b, c)), (FmaOp.FNMADD, lambda a, b, c: (a ^ SIGN, b, c ^ SIGN)),
    (FmaOp.FADD, lambda a, b, c: (a, 0x3F800000, b)), (FmaOp.FSUB, lambda a, b, c: (a, 0x3F800000, b ^ SIGN)),
    (FmaOp.FMUL, lambda a, b, c: (a, b, (a ^ b) & SIGN)),
])
def test_select(op, terms):
    rng = random.Random(SEED)
    part = SelectTerms()

    async def testbench(ctx):
        ctx.set(part.op, op)
        for _ in range(100):
            words = [rng.getrandbits(32) for _ in range(3)]
            for port, word in zip((part.a, part.b, part.c), words, strict=True):
                ctx.set(port, word)
            assert (ctx.get(part.x), ctx.get(part.y), ctx.get(part.z)) == terms(*words), f"seed {SEED}: {words}"

    run(part, testbench)


def significand(rng, width):
    """With its leading one; often with few other ones, or few zeros."""
    top = 1 << width - 1
    ones = rng.getrandbits(width) & rng.getrandbits(width) & rng.getrandbits(width)
    one = 1 << rng.randrange(width)
    return top | rng.choice((0, 1, one, top - 1, top - 2, ones, ~ones & top - 1, rng.getrandbits(width)))


def unpacked(rng, **classes):
    return {"significand": significand(rng, 24), "exponent": rng.randrange(-149, 128), "sign": rng.getrandbits(1),
            **classes}


def test_product_is_exact():
    rng = random.Random(SEED)
    part = Multiply()

    async def testbench(ctx):
        for _ in range(1000):
            x, y, z = unpacked(rng), unpacked(rng), unpacked(rng)
            for port, operand in ((part.x, x), (part.y, y), (part.z, z)):
                ctx.set(port, operand)
            product = ctx.get(part.product)
            exact = x["significand"] * y["significand"] * Fraction(2) ** (x["exponent"] + y["exponent"] - 46)
            text = f"seed {SEED}: {x} * {y}"
            assert product.significand * Fraction(2) ** (product.exponent - 47) == exact, text
            assert product.significand >> 46 != 0 and not product.zero, text
            assert product.sign == x["sign"] ^ y["sign"], text
            special = ctx.get(part.special)
            assert not (special.nan or special.infinite or special.invalid or special.divide_by_zero), text

    run(part, testbench)


CLASSES = {"number": {}, "zero": {"zero": 1, "significand": 0}, "infinite": {"infinite": 1}, "quiet": {"nan": 1},
           "signalling": {"nan": 1, "signalling": 1}}


def special_result(kinds, signs):
    """RISC-V unprivileged manual, chapter F; IEEE 754-2019, 7.2: what is invalid, and what is infinite."""
    x, y, z = kinds
    invalid = "signalling" in kinds or {x, y} == {"zero", "infinite"}
    nan = invalid or "quiet" in kinds
    product, addend = signs[0] ^ signs[1], signs[2]
    if not nan and "infinite" in (x, y) and z == "infinite" and product != addend:
        nan = invalid = True
    infinite = not nan and "infinite" in kinds
    sign = product if "infinite" in (x, y) else addend
    return nan, infinite, sign if infinite else None, invalid


def test_special_results():
    """Every combination of classes and signs."""
    rng = random.Random(SEED)
    part = Multiply()
    cases = [((x, y, z), (signs >> 2, signs >> 1 & 1, signs & 1))
             for x in CLASSES for y in CLASSES for z in CLASSES for signs in range(8)]

    async def testbench(ctx):
        for kinds, signs in cases:
            for port, kind, sign in zip((part.x, part.y, part.z), kinds, signs, strict=True):
                ctx.set(port, {**unpacked(rng), **CLASSES[kind], "sign": sign})
            special = ctx.get(part.special)
            infinite = special.infinite and not special.nan
            actual = special.nan, infinite, special.sign if infinite else None, special.invalid
            assert actual == special_result(kinds, signs), f"{kinds} {signs}"
            assert ctx.get(part.product).zero == ("zero" in kinds[:2]) and not special.divide_by_zero

    run(part, testbench)


def adder():
    m = Module()
    m.submodules.align = align = Align()
    m.submodules.add = add = Add()
    m.submodules.normalise = normalise = NormaliseSum()
    m.d.comb += [add.larger.eq(align.larger), add.smaller.eq(align.smaller), add.frame.eq(align.frame),
                 normalise.sum.eq(add.sum)]
    return m, align, normalise


def product_and_addend(rng):
    """Any distance of the two, mostly one at which they meet; at some, an addend that leaves next to nothing."""
    exponent = rng.randrange(-297, 258)
    distance = rng.choice((rng.randrange(-3, 4), rng.randrange(-60, 60), rng.randrange(-300, 300)))
    product = SimpleNamespace(significand=significand(rng, 48) >> rng.getrandbits(1), exponent=exponent,
                              sign=rng.getrandbits(1), zero=0)
    addend = SimpleNamespace(significand=significand(rng, 24), exponent=exponent + distance,
                             sign=rng.getrandbits(1), zero=0)
    if rng.getrandbits(2) == 0:
        cut = 24 + (product.significand >> 47) - 1
        addend.significand = min(max((product.significand >> cut) + rng.randrange(-2, 3), 1 << 23), (1 << 24) - 1)
        addend.exponent = exponent - 1 + (product.significand >> 47)
        addend.sign = 1 - product.sign
    addend.exponent = min(max(addend.exponent, -149), 127)
    for term in (product, addend):
        if rng.randrange(20) == 0:
            term.significand, term.zero, term.exponent = 0, 1, rng.randrange(-400, 300)
    return product, addend


def signed_value(term, width):
    return (-1) ** term.sign * term.significand * Fraction(2) ** (term.exponent - width + 1)


@pytest.mark.parametrize("rm", Rounding)
def test_sum_is_exact_down_to_the_sticky_bit(rm):
    seed = SEED + rm.value
    rng = random.Random(seed)
    m, align, normalise = adder()

    async def testbench(ctx):
        ctx.set(align.rm, rm)
        for _ in range(800):
            product, addend = product_and_addend(rng)
            ctx.set(align.product, vars(product))
            ctx.set(align.addend, vars(addend))
            actual = ctx.get(normalise.exact)
            text = f"seed {seed}: {product} + {addend}: {actual}"
            exact = signed_value(product, 48) + signed_value(addend, 24)
            if exact == 0:
                same = product.sign == addend.sign
                assert (actual.significand, actual.guard, actual.sticky) == (0, 0, 0), text
                assert actual.sign == (product.sign if same else rm is Rounding.RDN), text
                continue
            halves = abs(exact) / Fraction(2) ** (actual.exponent - 24)
            assert actual.sign == (exact < 0), text
            assert actual.significand >> 23 == 1, text
            assert actual.significand * 2 + actual.guard == halves.numerator // halves.denominator, text
            assert actual.sticky == (halves.denominator != 1), text

    run(m, testbench)
