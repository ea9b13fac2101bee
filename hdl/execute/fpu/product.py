"""The first half of a fused multiply-add: the choice of product and addend, and the multiplication."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...isa.ops import FmaOp
from ...lib.component import Component
from .formats import Special, Unpacked

__all__ = ["Multiply", "Product", "SelectTerms"]

_ONE = 0x3F80_0000


class Product(data.Struct):
    """(-1)**sign * significand / 2**47 * 2**(exponent - 127); or ``zero``, in which case ``exponent`` is undefined.

    The product of two normal numbers has a one in one of its two highest bits, that of a normal and a subnormal number
    in one of its 25 highest.
    """

    significand: 48
    exponent: signed(10)
    sign: 1
    zero: 1


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
    """The exact product, and the special result of x * y + z if it has one. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "x": In(Unpacked),  # the first factor
            "y": In(Unpacked),  # the second factor
            #: The addend; needed here only because the result is special if it is infinite or not a number.
            "z": In(Unpacked),
            "product": Out(Product),  # x * y; undefined if `special` is a result
            "special": Out(Special),  # the result of x * y + z if it is not a rounded number, with its flags
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y, z, product, special = self.x, self.y, self.z, self.product, self.special
        m.d.comb += [
            product.significand.eq(x.significand * y.significand),
            product.exponent.eq(x.exponent + y.exponent - 126),
            product.sign.eq(x.sign ^ y.sign),
            product.zero.eq(x.zero | y.zero),
        ]
        any_nan = x.nan | y.nan | z.nan
        any_signalling = x.signalling | y.signalling | z.signalling
        infinite = x.infinite | y.infinite
        # Invalid even if the addend is a quiet NaN, as RISC-V requires.
        zero_times_infinity = (x.infinite & y.zero) | (x.zero & y.infinite)
        difference_of_infinities = infinite & z.infinite & (product.sign ^ z.sign) & ~any_nan
        m.d.comb += [
            special.nan.eq(any_nan | zero_times_infinity | difference_of_infinities),
            special.infinite.eq(infinite | z.infinite),
            special.sign.eq(Mux(infinite, product.sign, z.sign)),
            special.invalid.eq(any_signalling | zero_times_infinity | difference_of_infinities),
        ]
        return m
