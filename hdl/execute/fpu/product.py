"""The first half of a fused multiply-add: the choice of product and addend, the multiplication, and their exponents."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...isa.ops import FmaOp
from ...lib.component import Component
from .formats import Special, Unpacked

__all__ = ["Alignment", "Compare", "Multiply", "Product", "Scale", "SelectTerms", "SumProducts"]

_ONE = 0x3F80_0000

#: Bits of the lower part of a factor.
_CUT = 18


class Product(data.Struct):
    """(-1)**sign * significand / 2**47 * 2**(exponent - 127); or ``zero``, in which case ``exponent`` is undefined.

    The product of two normal numbers has a one in one of its two highest bits, that of a normal and a subnormal number
    in one of its 25 highest.
    """

    significand: 48
    exponent: signed(10)
    sign: 1
    zero: 1


class Scale(data.Struct):
    """All of a product but its significand."""

    exponent: signed(10)
    sign: 1
    zero: 1


class Alignment(data.Struct):
    """Which of two terms is shifted, and how far.

    ``product_stays``: the addend is shifted to the right by ``distance``. Otherwise the product is, by ``distance`` + 1
    unless it is zero. 63 stands for any greater distance.
    """

    distance: 6
    product_stays: 1


class SelectTerms(Component):
    """Expresses every :class:`hdl.isa.ops.FmaOp` as x * y + z, all three as encodings. Combinational.

    Additions multiply by one. FMUL adds a zero with the sign of the product, which changes no result; a zero of the
    other sign would change -0.
    """

    def __init__(self) -> None:
        super().__init__({
            "enable": In(1),  # an operation is present; otherwise the terms are 0
            "op": In(FmaOp),  # the operation
            "a": In(32),  # rs1
            "b": In(32),  # rs2
            "c": In(32),  # rs3; only the fused operations have one
            "x": Out(32),  # the first factor
            "y": Out(32),  # the second factor
            "z": Out(32),  # the addend
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable = self.enable
        op = Signal(FmaOp)
        no_product, no_addend = Signal(), Signal()
        product_of_b, addend_of_b, addend_of_c = Signal(), Signal(), Signal()
        negate_product = (op == FmaOp.FNMSUB) | (op == FmaOp.FNMADD)
        negate_addend = (op == FmaOp.FMSUB) | (op == FmaOp.FNMADD) | (op == FmaOp.FSUB)
        m.d.comb += [
            op.eq(Mux(enable, self.op, 0)),
            no_product.eq((op == FmaOp.FADD) | (op == FmaOp.FSUB)),
            no_addend.eq(op == FmaOp.FMUL),
            product_of_b.eq(enable & ~no_product),
            addend_of_b.eq(no_product),
            addend_of_c.eq(enable & ~no_product & ~no_addend),
        ]
        one = no_product.replicate(32) & C(_ONE, 32)
        addend = (self.b & addend_of_b.replicate(32)) | (self.c & addend_of_c.replicate(32))
        sign = negate_addend ^ (no_addend & (self.a[31] ^ self.b[31]))
        m.d.comb += [
            self.x.eq((self.a & enable.replicate(32)) ^ Cat(C(0, 31), negate_product)),
            self.y.eq((self.b & product_of_b.replicate(32)) | one),
            self.z.eq(addend ^ Cat(C(0, 31), sign)),
        ]
        return m


class Multiply(Component):
    """The partial products, and the special result of x * y + z if it has one. Combinational.

    The factors are cut into 18 and 6 bits, as a multiplier of an FPGA takes 18.
    """

    def __init__(self) -> None:
        super().__init__({
            "x": In(Unpacked),  # the first factor
            "y": In(Unpacked),  # the second factor
            #: The addend; needed here only because the result is special if it is infinite or not a number.
            "z": In(Unpacked),
            "outer": Out(48),  # the product of the lower parts, and in bits 47 to 36 that of the upper parts
            "left": Out(24),  # the product of the upper part of x and the lower part of y
            "right": Out(24),  # the product of the lower part of x and the upper part of y
            "scale": Out(Scale),  # of x * y
            "special": Out(Special),  # the result of x * y + z if it is not a rounded number, with its flags
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y, z, scale, special = self.x, self.y, self.z, self.scale, self.special
        x_low, x_high = x.significand[:_CUT], x.significand[_CUT:]
        y_low, y_high = y.significand[:_CUT], y.significand[_CUT:]
        m.d.comb += [
            self.outer.eq(Cat(x_low * y_low, x_high * y_high)),
            self.left.eq(x_high * y_low), self.right.eq(x_low * y_high),
            scale.exponent.eq(x.exponent + y.exponent - 126),
            scale.sign.eq(x.sign ^ y.sign),
            scale.zero.eq(x.zero | y.zero),
        ]
        any_nan = x.nan | y.nan | z.nan
        any_signalling = x.signalling | y.signalling | z.signalling
        infinite = x.infinite | y.infinite
        # Invalid even if the addend is a quiet NaN, as RISC-V requires.
        zero_times_infinity = (x.infinite & y.zero) | (x.zero & y.infinite)
        difference_of_infinities = infinite & z.infinite & (scale.sign ^ z.sign) & ~any_nan
        m.d.comb += [
            special.nan.eq(any_nan | zero_times_infinity | difference_of_infinities),
            special.infinite.eq(infinite | z.infinite),
            special.sign.eq(Mux(infinite, scale.sign, z.sign)),
            special.invalid.eq(any_signalling | zero_times_infinity | difference_of_infinities),
        ]
        return m


class SumProducts(Component):
    """The exact product from its parts. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "outer": In(48),  # the four parts as Multiply gives them
            "left": In(24),  # likewise
            "right": In(24),  # likewise
            "scale": In(Scale),  # likewise
            "product": Out(Product),  # x * y; undefined if it is infinite or not a number
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        product, scale = self.product, self.scale
        inner = Signal(25)
        m.d.comb += [
            inner.eq(self.left + self.right),
            product.significand.eq(Cat(self.outer[:_CUT], self.outer[_CUT:] + inner)),
            product.exponent.eq(scale.exponent), product.sign.eq(scale.sign), product.zero.eq(scale.zero),
        ]
        return m


class Compare(Component):
    """Which of product and addend is shifted to the right to the exponent of the other. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "exponent": In(signed(10)),  # that of the product
            "zero": In(1),  # the product is zero
            "addend_exponent": In(8),  # that of the addend
            "alignment": Out(Alignment),  # of the two
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        difference = Signal(10)
        # The one's complement of -n is n - 1: for a negative difference the product is shifted, from one place lower.
        magnitude = difference[:9] ^ difference[9].replicate(9)
        m.d.comb += [
            difference.eq(self.exponent - self.addend_exponent),
            self.alignment.distance.eq(magnitude[:6] | magnitude[6:].any().replicate(6)),
            self.alignment.product_stays.eq(~self.zero & ~difference[9]),
        ]
        return m
