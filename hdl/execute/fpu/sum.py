"""The second half of a fused multiply-add: a product and an addend become one exact number.

Only 50 bits are needed where the full sum would have hundreds. The term with the higher top bit stands at the left end,
the other is shifted right; what goes beyond bit 0 becomes a one in bit 0 (sticky). No result is affected: the product's
leading one is in one of its two highest bits, so

- with a shift by 0 or 1 of the product, or by up to 26 of the 24-bit addend, nothing is lost;
- in all other cases the smaller term is below 1/2 of the larger one, a difference has its leading one in bit 47 or
  above, and bit 0 lies far below the guard bit of its 24-bit significand.
"""

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from .formats import EXPONENT_BITS, Rounding, Unpacked, Unrounded
from .product import Product
from .shift import Normalise, shift_right_sticky

__all__ = ["Add", "Align", "Frame", "NormaliseSum", "Sum"]


class Frame(data.Struct):
    """What the two aligned terms have in common."""

    #: That of bit 49 of the terms.
    exponent: signed(EXPONENT_BITS)
    #: That of the sum if the larger term is ``larger``.
    sign: 1
    #: The terms have opposite signs.
    subtract: 1
    #: The sign of the sum if it is exactly 0.
    zero_sign: 1


class Sum(data.Struct):
    """A sum before its sign is sorted out."""

    #: Two's complement if ``subtract``, else unsigned. ``exponent`` is that of bit 49.
    value: 51
    exponent: signed(EXPONENT_BITS)
    sign: 1
    subtract: 1
    zero_sign: 1


class Align(Component):
    """Shifts the term whose top bit has the lower exponent to the right. Combinational.

    ``larger`` may still be the smaller magnitude, if the exponents differ by no more than 1. An infinite or NaN term
    makes the outputs meaningless.
    """

    def __init__(self) -> None:
        super().__init__({
            "rm": In(Rounding),  # decides the sign of an exact 0
            "product": In(Product),  # one term
            "addend": In(Unpacked),  # the other term, subnormal numbers normalised
            "larger": Out(50),  # the significand of the term whose top bit is the higher one, at the left end
            "smaller": Out(50),  # that of the other, shifted to the same exponent; bit 0 is sticky
            "frame": Out(Frame),  # exponent and signs of the two
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        product, addend, frame = self.product, self.addend, self.frame
        # Positive: the product's top bit is higher.
        difference = Signal(signed(EXPONENT_BITS + 1))
        magnitude = Signal(EXPONENT_BITS + 1)
        distance = Signal(6)
        product_stays = Signal()
        m.d.comb += [
            difference.eq(product.exponent - addend.exponent),
            magnitude.eq(Mux(difference[-1], -difference, difference)),
            distance.eq(Mux(magnitude[6:].any(), 63, magnitude)),
            # The exponent of zero means nothing, and zero may be shifted by any distance.
            product_stays.eq(~product.zero & (addend.zero | ~difference[-1])),
        ]
        shifted = Signal(49)
        addend_bits = Cat(C(0, 24), addend.significand)
        m.d.comb += shifted.eq(Cat(C(0, 1), Mux(product_stays, addend_bits, product.significand)))
        kept, lost = shift_right_sticky(shifted, distance)
        subtract = product.sign ^ addend.sign
        m.d.comb += [
            self.larger.eq(Cat(C(0, 2), Mux(product_stays, product.significand, addend_bits))),
            self.smaller.eq(Cat(lost, kept)),
            frame.exponent.eq(Mux(product_stays, product.exponent, addend.exponent)),
            frame.sign.eq(Mux(product_stays, product.sign, addend.sign)),
            frame.subtract.eq(subtract),
            frame.zero_sign.eq(Mux(subtract, self.rm == Rounding.RDN, product.sign)),
        ]
        return m


class Add(Component):
    """One addition or subtraction of aligned terms, in two's complement. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "larger": In(50),  # as Align gives it
            "smaller": In(50),  # as Align gives it
            "frame": In(Frame),  # of the two; passed on in `sum`
            "sum": Out(Sum),  # larger + smaller, or larger - smaller where the frame says `subtract`
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # One adder: x - y = x + ~y + 1.
        inverted = Signal(51)
        m.d.comb += [
            inverted.eq(Mux(self.frame.subtract, ~Cat(self.smaller, C(0, 1)), self.smaller)),
            self.sum.value.eq(self.larger + inverted + self.frame.subtract),
            self.sum.exponent.eq(self.frame.exponent),
            self.sum.sign.eq(self.frame.sign),
            self.sum.subtract.eq(self.frame.subtract),
            self.sum.zero_sign.eq(self.frame.zero_sign),
        ]
        return m


class NormaliseSum(Component):
    """A sum made ready to be rounded: magnitude and sign, normalised. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "sum": In(Sum),  # as Add gives it
            "exact": Out(Unrounded),  # the same number, its leading one at the left end
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.normalise = normalise = Normalise(width=51)
        sum_, exact = self.sum, self.exact
        negative = Signal()
        bits = normalise.normalised
        m.d.comb += [
            negative.eq(sum_.subtract & sum_.value[50]),
            normalise.value.eq(Mux(negative, -sum_.value, sum_.value)),
            Cat(exact.guard, exact.significand).eq(bits[26:]),
            exact.sticky.eq(bits[:26].any()),
            exact.exponent.eq(sum_.exponent + 1 - normalise.distance),
            # The highest bit is 0 of a zero alone.
            exact.sign.eq(Mux(bits[50], sum_.sign ^ negative, sum_.zero_sign)),
        ]
        return m
