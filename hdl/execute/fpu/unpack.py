"""Unpacking: the value of an encoded operand."""

from amaranth.hdl import Cat, Module
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from .formats import Float32, Unpacked

__all__ = ["Unpack"]


class Unpack(Component):
    """The number that an encoding stands for; subnormal numbers are not normalised. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "bits": In(32),  # the encoding
            "value": Out(Unpacked),  # the same number
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits, value = data.View(Float32, self.bits), self.value
        smallest = bits.exponent == 0
        largest = bits.exponent == 0xFF
        no_fraction = bits.fraction == 0
        m.d.comb += [
            value.sign.eq(bits.sign),
            value.significand.eq(Cat(bits.fraction, ~smallest)),
            # A subnormal number has exponent field 0, but the same exponent as with field 1.
            value.exponent.eq(bits.exponent | smallest),
            value.zero.eq(smallest & no_fraction),
            value.infinite.eq(largest & no_fraction),
            value.nan.eq(largest & ~no_fraction),
            value.signalling.eq(largest & ~no_fraction & ~bits.fraction[22]),
        ]
        return m
