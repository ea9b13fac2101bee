"""Small lanes for the tests: what each part of the SystemVerilog is about, and what cannot be an array."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Small(wiring.Component):
    """Two registers, one after the other, with operations of all kinds before them."""

    take: In(1)
    advance: In(1)
    op: In(2)
    a: In(32)
    b: In(32)
    result: Out(32)
    flags: Out(2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, second = Signal(40, reset_less=True), Signal(32, reset_less=True)
        flags = Signal(2, reset_less=True)
        with m.If(self.take):
            with m.Switch(self.op):
                with m.Case(0):
                    m.d.sync += first.eq(self.a.as_signed() * self.b[:8].as_signed())
                with m.Case(1):
                    m.d.sync += first.eq(Cat(self.a - self.b, self.a < self.b))
                with m.Case(2):
                    m.d.sync += first.eq(Mux(self.a.as_signed() < self.b.as_signed(), self.a, ~self.b))
                with m.Default():
                    m.d.sync += first.eq(self.a.as_signed() >> self.b[:5])
        with m.If(self.advance):
            m.d.sync += [second.eq(first[:32] ^ (first[32:] << 3)), flags.eq(Cat(first.any(), first.all()))]
        m.d.comb += [self.result.eq(second), self.flags.eq(flags)]
        return m


class Free(wiring.Component):
    """A register without an enable."""

    a: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal(32, reset_less=True)
        m.d.sync += taken.eq(self.a)
        m.d.comb += self.result.eq(taken)
        return m


class Unless(wiring.Component):
    """An enable that is 1 while all inputs are 0."""

    hold: In(2)
    a: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal(32, reset_less=True)
        with m.If(self.hold == 0):
            m.d.sync += taken.eq(self.a)
        m.d.comb += self.result.eq(taken)
        return m


class Reset(wiring.Component):
    """A register that the reset clears."""

    take: In(1)
    a: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.take):
            m.d.sync += self.result.eq(self.a)
        return m


class Direct(wiring.Component):
    """An output that does not come from registers alone."""

    take: In(1)
    a: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal(32, reset_less=True)
        with m.If(self.take):
            m.d.sync += taken.eq(self.a)
        m.d.comb += self.result.eq(taken ^ self.a)
        return m


class Either(wiring.Component):
    """An enable that is an OR of two, which a third can choose another for."""

    one: In(1)
    other: In(1)
    choose: In(1)
    instead: In(1)
    a: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal(32, reset_less=True)
        enable = Signal()
        m.d.comb += enable.eq(Mux(self.choose, self.instead, self.one | self.other))
        with m.If(enable):
            m.d.sync += taken.eq(self.a)
        m.d.comb += self.result.eq(taken)
        return m


class Both(wiring.Component):
    """An enable that is an AND: it is enough that one input is 0."""

    one: In(1)
    other: In(1)
    a: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal(32, reset_less=True)
        with m.If(self.one & self.other):
            m.d.sync += taken.eq(self.a)
        m.d.comb += self.result.eq(taken)
        return m


class Inverted(wiring.Component):
    """An enable that is active low."""

    hold: In(1)
    a: In(32)
    result: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal(32, reset_less=True)
        with m.If(~self.hold):
            m.d.sync += taken.eq(self.a)
        m.d.comb += self.result.eq(taken)
        return m
