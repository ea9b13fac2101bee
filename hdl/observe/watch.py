"""Sticky bits of the hardware assertions."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from ..lib.component import Component

__all__ = ["Sticky"]


class Sticky(Component):
    """``seen[i]`` is 1 from the cycle after ``bits[i]`` was 1, until reset."""

    def __init__(self, *, width: int) -> None:
        super().__init__({
            "bits": In(width),  # the watched bits
            "seen": Out(width),  # registers: the bits that have been 1 since reset
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.seen.eq(self.seen | self.bits)
        return m
