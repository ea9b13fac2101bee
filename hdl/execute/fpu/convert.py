"""The conversions between RV32F and 32-bit integers, as terms of a sum."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...isa.ops import FcvtOp
from ...lib.component import Component
from .formats import Control, Float32, Rounding
from .product import Product
from .sum import Addend

__all__ = ["Convert"]

#: The exponent of a number with its leading one in the place of an integer's bit 31, as it is encoded.
_TOP = 127 + 31


class Convert(Component):
    """Turns an integer into an addend to zero, and a number into one to an empty product whose point is in place.

    The sum's own steps then normalise the integer, and shift the number until its point is where an integer's is.
    Combinational; all outputs but ``product`` are 0 without ``enable``.
    """

    def __init__(self) -> None:
        super().__init__({
            "enable": In(1),  # an operation is present
            "op": In(FcvtOp),  # the operation
            "rm": In(Rounding),  # rounding mode
            "a": In(32),  # the integer or the encoding
            "product": Out(Product),  # zero, or nothing in a product's place
            "addend": Out(Addend),  # the operand
            "control": Out(Control),  # the sum of the two
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(32)
        op = Signal(FcvtOp)
        number = data.View(Float32, word)
        from_integer, to_integer = Signal(), Signal()
        is_unsigned, negative, nan = Signal(), Signal(), Signal()
        smallest = number.exponent == 0
        fraction = Cat(Const(0, 8), number.fraction, ~smallest) & to_integer.replicate(32)
        integer = (word & from_integer.replicate(32)) ^ negative.replicate(32)
        m.d.comb += [
            word.eq(self.a & self.enable.replicate(32)),
            op.eq(Mux(self.enable, self.op, 0)),
            from_integer.eq(self.enable & ((op == FcvtOp.S_W) | (op == FcvtOp.S_WU))),
            to_integer.eq(self.enable & ~from_integer),
            is_unsigned.eq((op == FcvtOp.WU_S) | (op == FcvtOp.S_WU)),
            negative.eq(from_integer & word[31] & ~is_unsigned),
            nan.eq(number.exponent.all() & number.fraction.any()),
            self.product.exponent.eq(_TOP),
            self.product.zero.eq(from_integer),
            self.product.sign.eq(self.addend.sign),
            self.addend.significand.eq(integer | fraction),
            self.addend.exponent.eq(Mux(to_integer, number.exponent | smallest, from_integer.replicate(8) & _TOP)),
            # A NaN counts as positive.
            self.addend.sign.eq(negative | (to_integer & number.sign & ~nan)),
            self.addend.complement.eq(negative),
            self.control.rm.eq(Mux(self.enable, self.rm, 0)),
            self.control.to_integer.eq(to_integer),
            self.control.is_unsigned.eq(to_integer & is_unsigned),
        ]
        return m
