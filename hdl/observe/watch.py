"""What the SM remembers of things that should not happen: the first fault and the hardware assertions."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.execute import fault_layout

__all__ = ["FaultLatch", "Sticky"]


class FaultLatch(wiring.Component):
    """Keeps the first fault until reset. Of two in one cycle it is the LSU's, whose instruction is the older one."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__({
            "execute_valid": In(1),
            "execute": In(fault_layout(config)),
            "lsu_valid": In(1),
            "lsu": In(fault_layout(config)),
            "valid": Out(1),
            "fault": Out(fault_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(~self.valid & self.lsu_valid):
            m.d.sync += [self.valid.eq(1), self.fault.eq(self.lsu)]
        with m.Elif(~self.valid & self.execute_valid):
            m.d.sync += [self.valid.eq(1), self.fault.eq(self.execute)]
        return m


class Sticky(wiring.Component):
    """``seen[i]`` is 1 from the cycle after ``bits[i]`` was 1, until reset."""

    def __init__(self, *, width: int) -> None:
        super().__init__({"bits": In(width), "seen": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.seen.eq(self.seen | self.bits)
        return m
