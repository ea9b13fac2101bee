"""The steps of the fused multiply-add, each against exact arithmetic on rationals."""

import random
from fractions import Fraction
from types import SimpleNamespace

import pytest
from amaranth.hdl import Module

from metronome.hdl.execute.fpu.convert import Convert
from metronome.hdl.execute.fpu.formats import Rounding
from metronome.hdl.execute.fpu.product import Compare, Multiply, SelectTerms, SumProducts
from metronome.hdl.execute.fpu.sum import Add, Align, FinishSum, NormaliseSum
from metronome.hdl.isa.ops import FcvtOp, FmaOp
from tests.hdl.lib.simulate import drive, simulate, simulated
from tests.support.tiers import some_more

SEED = 35
SIGN = 1 << 31


@pytest.mark.parametrize(("op", "terms"), [
    (FmaOp.FMADD, lambda a, b, c: (a, b, c)), (FmaOp.FMSUB, lambda a, b, c: (a, b, c ^ SIGN)),
    (FmaOp.FNMSUB, lambda a, b, c: (a ^ SIGN, b, c)), (FmaOp.FNMADD, lambda a, b, c: (a ^ SIGN, b, c ^ SIGN)),
    (FmaOp.FADD, lambda a, b, c: (a, 0x3F800000, b)), (FmaOp.FSUB, lambda a, b, c: (a, 0x3F800000, b ^ SIGN)),
    (FmaOp.FMUL, lambda a, b, c: (a, b, (a ^ b) & SIGN)),
])
@simulated(SelectTerms)
async def test_select(ctx, part, op, terms):
    rng = random.Random(SEED)
    drive(ctx, part, op=op, enable=1)
    for _ in range(100):
        words = [rng.getrandbits(32) for _ in range(3)]
        for port, word in zip((part.a, part.b, part.c), words, strict=True):
            ctx.set(port, word)
        assert (ctx.get(part.x), ctx.get(part.y), ctx.get(part.z)) == terms(*words), f"seed {SEED}: {words}"
    ctx.set(part.enable, 0)
    assert (ctx.get(part.x), ctx.get(part.y), ctx.get(part.z)) == (0, 0, 0)


def significand(rng, width):
    """With its leading one; often with few other ones, or few zeros."""
    top = 1 << width - 1
    ones = rng.getrandbits(width) & rng.getrandbits(width) & rng.getrandbits(width)
    one = 1 << rng.randrange(width)
    return top | rng.choice((0, 1, one, top - 1, top - 2, ones, ~ones & top - 1, rng.getrandbits(width)))


def factor(rng):
    """A significand and its encoded exponent: 24 bits with a leading one, or a subnormal number."""
    if rng.getrandbits(2):
        return significand(rng, 24), rng.randrange(1, 255)
    return significand(rng, 23) >> rng.randrange(23), 1


def unpacked(rng, **classes):
    bits, exponent = factor(rng)
    return {"significand": bits, "exponent": exponent, "sign": rng.getrandbits(1), **classes}


def test_product_is_exact():
    """And the shift that aligns the addend with it is the difference of their exponents."""
    rng = random.Random(SEED)
    m = Module()
    m.submodules.part = part = Multiply()
    m.submodules.total = total = SumProducts()
    m.submodules.compare = compare = Compare()
    m.d.comb += [total.outer.eq(part.outer), total.left.eq(part.left), total.right.eq(part.right),
                 total.scale.eq(part.scale), *comparison(compare, total.product, part.z)]

    async def testbench(ctx):
        for _ in range(1000):
            x, y, z = unpacked(rng), unpacked(rng), unpacked(rng)
            drive(ctx, part, x=x, y=y, z=z)
            product, alignment = ctx.get(total.product), ctx.get(compare.alignment)
            exact = x["significand"] * y["significand"] * Fraction(2) ** (x["exponent"] + y["exponent"] - 254 - 46)
            text = f"seed {SEED}: {x} * {y} + {z}"
            assert product.significand * Fraction(2) ** (product.exponent - 127 - 47) == exact, text
            assert product.significand and not product.zero, text
            assert product.sign == x["sign"] ^ y["sign"], text
            special = ctx.get(part.special)
            assert not (special.nan or special.infinite or special.invalid or special.divide_by_zero), text
            above = product.exponent - z["exponent"]
            assert alignment.product_stays == (above >= 0), text
            assert alignment.distance == min(above if above >= 0 else -above - 1, 63), text

    simulate(m, testbench)


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


@simulated(Multiply)
async def test_special_results(ctx, part):
    """Every combination of classes and signs."""
    rng = random.Random(SEED)
    cases = [((x, y, z), (signs >> 2, signs >> 1 & 1, signs & 1))
             for x in CLASSES for y in CLASSES for z in CLASSES for signs in range(8)]
    for kinds, signs in cases:
        for port, kind, sign in zip((part.x, part.y, part.z), kinds, signs, strict=True):
            ctx.set(port, {**unpacked(rng), **CLASSES[kind], "sign": sign})
        special = ctx.get(part.special)
        infinite = special.infinite and not special.nan
        actual = special.nan, infinite, special.sign if infinite else None, special.invalid
        assert actual == special_result(kinds, signs), f"{kinds} {signs}"
        assert ctx.get(part.scale).zero == ("zero" in kinds[:2]) and not special.divide_by_zero


def comparison(compare, product, addend):
    return [compare.exponent.eq(product.exponent), compare.zero.eq(product.zero),
            compare.addend_exponent.eq(addend.exponent)]


def adder():
    m = Module()
    m.submodules.compare = compare = Compare()
    m.submodules.align = align = Align()
    m.submodules.add = add = Add()
    m.submodules.normalise = normalise = NormaliseSum()
    m.submodules.finish = finish = FinishSum()
    m.d.comb += [add.larger.eq(align.larger), add.smaller.eq(align.smaller), add.frame.eq(align.frame),
                 *comparison(compare, align.product, align.addend), align.alignment.eq(compare.alignment),
                 normalise.sum.eq(add.sum), finish.magnitude.eq(normalise.magnitude),
                 finish.frame.eq(normalise.frame)]
    return m, align, finish


def product_and_addend(rng):
    """Any distance of the two, mostly one at which they meet; at some, an addend that leaves next to nothing."""
    x, y = factor(rng), factor(rng)
    product = SimpleNamespace(significand=x[0] * y[0], exponent=x[1] + y[1] - 126, sign=rng.getrandbits(1), zero=0)
    bits, exponent = factor(rng)
    distance = rng.choice((rng.randrange(-3, 4), rng.randrange(-60, 60), rng.randrange(-300, 300)))
    if rng.getrandbits(1):
        exponent = min(max(product.exponent + distance, 1), 254)
    addend = SimpleNamespace(significand=bits, exponent=exponent, sign=rng.getrandbits(1))
    top = product.exponent - 47 + product.significand.bit_length() - 1
    if rng.getrandbits(2) == 0 and 1 <= top <= 254:
        near = product.significand << 24 >> product.significand.bit_length()
        addend.significand = min(max(near + rng.randrange(-2, 3), 1 << 23), (1 << 24) - 1)
        addend.exponent = top
        addend.sign = 1 - product.sign
    if rng.randrange(20) == 0:
        product.significand, product.zero = 0, 1
    if rng.randrange(20) == 0:
        addend.significand, addend.exponent = 0, 1
    return product, addend


def signed_value(term, width):
    return (-1) ** term.sign * term.significand * Fraction(2) ** (term.exponent - 127 - width + 1)


def rounding_bits(magnitude):
    """Significand and guard bit where RV32F rounds it, their exponent, and whether there is more."""
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length(), -126)
    if magnitude < Fraction(2) ** exponent and exponent > -126:
        exponent -= 1
    halves = magnitude / Fraction(2) ** (exponent - 24)
    return halves.numerator // halves.denominator, exponent, halves.denominator != 1


@pytest.mark.slow
@pytest.mark.parametrize("rm", some_more(Rounding, 1))
def test_sum_is_exact_down_to_the_sticky_bit(rm):
    seed = SEED + rm.value
    rng = random.Random(seed)
    m, align, finish = adder()

    async def testbench(ctx):
        ctx.set(align.rm, rm)
        for _ in range(1000):
            product, addend = product_and_addend(rng)
            drive(ctx, align, product=vars(product), addend={**vars(addend), "significand": addend.significand << 8})
            actual = ctx.get(finish.exact)
            text = f"seed {seed}: {product} + {addend}: {actual}"
            exact = signed_value(product, 48) + signed_value(addend, 24)
            if exact == 0:
                same = product.sign == addend.sign
                assert actual.zero and (actual.high, actual.rest) == (0, 0), text
                assert actual.sign == (product.sign if same else rm is Rounding.RDN), text
                continue
            halves, exponent, more = rounding_bits(abs(exact))
            assert not actual.zero and actual.sign == (exact < 0), text
            assert actual.exponent - actual.distance == exponent + 126, text
            assert actual.high >> 9 == halves, text
            assert bool(actual.high & 0x1FF or actual.rest) == more, text
            if actual.high >> 33 == 0:
                # Of a subnormal number the next bit counts, too.
                quarters = abs(exact) / Fraction(2) ** (exponent - 25)
                assert actual.high >> 8 == quarters.numerator // quarters.denominator, text

    simulate(m, testbench)


@pytest.mark.more
@pytest.mark.parametrize("op", some_more(FcvtOp, 2))
def test_a_conversion_is_a_sum(op):
    """An integer is normalised; of a number all that is before the point is in bits 32..1, if it fits."""
    seed = SEED + op.value
    rng = random.Random(seed)
    m, align, finish = adder()
    m.submodules.convert = convert = Convert()
    m.d.comb += [align.product.eq(convert.product), align.addend.eq(convert.addend),
                 align.fixed.eq(convert.control.to_integer)]

    async def testbench(ctx):
        drive(ctx, convert, enable=1, op=op)
        for _ in range(500):
            word = rng.choice((rng.getrandbits(32), rng.getrandbits(32) >> rng.randrange(32), 0x8000_0000,
                               rng.getrandbits(1) << 31 | rng.randrange(120, 160) << 23 | rng.getrandbits(23)))
            ctx.set(convert.a, word)
            actual, beyond = ctx.get(finish.exact), ctx.get(align.beyond)
            text = f"seed {seed}: {op} {word:#x}: {actual}"
            if op in (FcvtOp.S_W, FcvtOp.S_WU):
                value = word - (1 << 32) if op == FcvtOp.S_W and word >> 31 else word
                assert actual.sign == (value < 0) and actual.zero == (value == 0), text
                place = Fraction(2) ** (actual.exponent - actual.distance - 126 - 33)
                assert value == 0 or (actual.high >> 33 and actual.high * place == abs(value)), text
                continue
            exponent, fraction = word >> 23 & 255, word & 0x7FFFFF
            magnitude = Fraction((exponent > 0) << 23 | fraction, 2**23) * Fraction(2) ** (max(exponent, 1) - 127)
            assert beyond == (magnitude >= 2**32), text
            if not beyond:
                halves = magnitude * 2
                assert actual.high == halves.numerator // halves.denominator, text
                assert actual.rest == (halves.denominator != 1), text
                assert actual.sign == word >> 31 and actual.exponent == actual.distance == 0, text

    simulate(m, testbench)
