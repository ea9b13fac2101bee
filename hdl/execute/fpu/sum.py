"""The second half of a fused multiply-add: a product and an addend become one exact number.

Only 51 bits are needed instead of the hundreds of a full sum. The term with the higher exponent stands at the left end,
the other is shifted right; bits shifted beyond bit 1 become a one in bit 0 (sticky). No result is affected:

- With a shift by up to 1 of the product, or by up to 26 of the 24-bit addend, nothing is lost.
- An addend that goes further has its top bit in bit 22 or below, and even a product of a subnormal number has its
  leading one in bit 26 or above. The sum has it in bit 25 or above, and its guard bit in bit 1 or above.
- A product that goes further meets an addend with its leading one in bit 50, of which the difference leaves bit 48; or
  a subnormal one. Then the last bit of the result is bit 27, whatever the sum.
- A product below the smallest normal number is shifted to that number's exponent, even if the addend is zero, so its
  last bit is in place. A product of two subnormal factors goes entirely into bit 0.
"""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from .formats import SUM_BITS, Normalised, Rounding
from .product import Alignment, Product
from .shift import NormaliseBits, NormaliseBlocks, shift_right_sticky

__all__ = ["Add", "Addend", "Align", "FinishSum", "Frame", "NormaliseSum", "Shifted", "Sum"]


class Addend(data.Struct):
    """(-1)**sign * significand / 2**31 * 2**(exponent - 127); with ``complement``, the one's complement of that."""

    significand: 32
    exponent: 8
    sign: 1
    complement: 1


class Frame(data.Struct):
    """The properties shared by the two aligned terms."""

    #: That of a number with its leading one in bit 50 of the terms, as it is encoded; 0 if the sum stays in its place.
    exponent: 9
    #: That of the sum if the larger term is ``larger``.
    sign: 1
    #: The terms have opposite signs.
    subtract: 1
    #: Add one: ``larger`` is a one's complement.
    complement: 1
    #: The sign of the sum if it is exactly 0.
    zero_sign: 1


class Sum(data.Struct):
    """A sum before its sign is resolved."""

    #: The magnitude; its one's complement if ``negative``. Bit 50 has the exponent of the frame.
    value: SUM_BITS
    negative: 1
    exponent: 9
    sign: 1
    zero_sign: 1


class Align(Component):
    """Shifts the term with the lower exponent to the right. Combinational.

    ``larger`` may still have the smaller magnitude. An infinite or NaN term makes the outputs meaningless.
    """

    def __init__(self) -> None:
        super().__init__({
            "rm": In(Rounding),  # decides the sign of an exact 0
            "fixed": In(1),  # the product's exponent counts, and the sum is not to be normalised
            "product": In(Product),  # one term
            "addend": In(Addend),  # the other term
            "alignment": In(Alignment),  # of the two
            "larger": Out(51),  # the significand of the term with the higher exponent, at the left end
            "smaller": Out(51),  # that of the other, shifted to the same exponent; bit 0 is sticky
            "frame": Out(Frame),  # exponent and signs of the two
            "beyond": Out(1),  # the addend has the higher exponent, or the product is zero
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        product, addend, frame = self.product, self.addend, self.frame
        product_stays = self.alignment.product_stays
        m.d.comb += self.beyond.eq(~product_stays)
        # Bits 50 to 1.
        shifted = Signal(50)
        addend_bits = Cat(C(0, 18), addend.significand)
        product_bits = Cat(C(0, 1), product.significand, C(0, 1))
        m.d.comb += shifted.eq(Mux(product_stays, addend_bits, product_bits))
        kept, lost = shift_right_sticky(m, shifted, self.alignment.distance)
        subtract = product.sign ^ addend.sign
        m.d.comb += [
            self.larger.eq(Mux(product_stays, Cat(C(0, 3), product.significand),
                                Cat(addend.complement.replicate(19), addend.significand))),
            self.smaller.eq(Cat(lost, kept)),
            frame.exponent.eq(Mux(product_stays, Mux(self.fixed, 0, product.exponent[:9]), addend.exponent)),
            frame.sign.eq(Mux(product_stays, product.sign, addend.sign)),
            frame.subtract.eq(subtract),
            frame.complement.eq(addend.complement),
            frame.zero_sign.eq(Mux(subtract, self.rm == Rounding.RDN, product.sign)),
        ]
        return m


class Add(Component):
    """One addition or subtraction of aligned terms. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "larger": In(51),  # as Align gives it
            "smaller": In(51),  # as Align gives it
            "frame": In(Frame),  # of the two; passed on in `sum`
            "sum": Out(Sum),  # larger + smaller, or larger - smaller if the frame has `subtract`
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        frame, sum_ = self.frame, self.sum
        less = Signal()
        carry = Signal()
        inverted = Signal(51)
        total = Signal(53)
        # One adder: x - y = x + ~y + 1. Without the 1 it is the one's complement of y - x.
        m.d.comb += [
            less.eq(self.larger < self.smaller),
            carry.eq((frame.subtract & ~less) | frame.complement),
            inverted.eq(self.smaller ^ frame.subtract.replicate(51)),
            total.eq(Cat(carry, self.larger) + Cat(carry, inverted)),
            sum_.value.eq(Cat(total[1:52], total[52] & ~frame.subtract)),
            sum_.negative.eq(frame.subtract & less),
            sum_.exponent.eq(frame.exponent),
            sum_.sign.eq(frame.sign ^ sum_.negative),
            sum_.zero_sign.eq(frame.zero_sign),
        ]
        return m


class Shifted(data.Struct):
    """A sum between the two halves of its normalisation, without its magnitude."""

    #: By how many blocks of 8 bits the magnitude has been shifted.
    blocks: 3
    #: The second half may shift by any distance.
    more: 1
    #: That of the sum.
    exponent: 9
    #: There is more below the lowest bit.
    rest: 1
    sign: 1
    zero: 1


class NormaliseSum(Component):
    """Prepares a sum, or a quotient in its place, for rounding: the first half. Combinational.

    The two halves shift the highest one to the left end, but no further than the exponent of the smallest normal number
    allows. The first one shifts by blocks of 8 bits.
    """

    def __init__(self) -> None:
        super().__init__({
            "sum": In(Sum),  # as Add gives it
            "root": In(26),  # ORed with the highest bits of the magnitude
            "rest": In(1),  # ORed with the lowest bit of the result
            "magnitude": Out(SUM_BITS),  # the magnitude, shifted
            "frame": Out(Shifted),  # everything else
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.blocks = blocks = NormaliseBlocks(width=SUM_BITS)
        sum_, frame = self.sum, self.frame
        magnitude = Signal(SUM_BITS)
        m.d.comb += [
            magnitude.eq((sum_.value ^ Cat(sum_.negative.replicate(51), C(0, 1)))
                         | Cat(C(0, SUM_BITS - 26), self.root)),
            blocks.value.eq(magnitude),
            blocks.room.eq(sum_.exponent[:6]),
            blocks.free.eq(sum_.exponent[6:].any()),
            self.magnitude.eq(blocks.shifted),
            frame.blocks.eq(blocks.blocks), frame.more.eq(blocks.more),
            frame.exponent.eq(sum_.exponent), frame.rest.eq(self.rest),
            frame.zero.eq(~magnitude.any() & ~self.rest),
            frame.sign.eq(Mux(frame.zero, sum_.zero_sign, sum_.sign)),
        ]
        return m


class FinishSum(Component):
    """The second half of a sum's normalisation. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "magnitude": In(SUM_BITS),  # as NormaliseSum gives it
            "frame": In(Shifted),  # as NormaliseSum gives it
            "exact": Out(Normalised),  # the sum
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bits = bits = NormaliseBits(width=SUM_BITS)
        frame, exact = self.frame, self.exact
        high = SUM_BITS - len(exact.high)
        # These bits are below the result even after the longest shift of this half.
        below = high - (1 << len(bits.distance)) + 1
        m.d.comb += [
            bits.value.eq(self.magnitude), bits.room.eq(frame.exponent[:3]), bits.free.eq(frame.more),
            exact.high.eq(bits.normalised[high:]),
            exact.rest.eq(self.magnitude[:below].any() | bits.normalised[below:high].any() | frame.rest),
            exact.exponent.eq(frame.exponent),
            exact.distance.eq(Cat(bits.distance, frame.blocks)),
            exact.zero.eq(frame.zero), exact.sign.eq(frame.sign),
        ]
        return m
