"""What the SM remembers of things that should not happen: the first fault and the hardware assertions."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.execute import fault_layout

__all__ = ["FaultLatch", "Sticky"]


class FaultLatch(wiring.Component):
    """Keeps the first fault until reset; one of stage X gives way to an older one of its warp.

    A load or store tells its fault later than the instructions behind it: after a fault in stage X, one that the LSU
    tells of the same warp is older (what was behind the first fault is cancelled) and takes its place. Of two in one
    cycle the LSU's counts, for the same reason. Of two that the LSU tells the first counts, which may be the younger.
    """

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
        replaceable = Signal()
        older = replaceable & (self.lsu.warp == self.fault.warp)
        with m.If(self.lsu_valid & (~self.valid | older)):
            m.d.sync += [self.valid.eq(1), self.fault.eq(self.lsu), replaceable.eq(0)]
        with m.Elif(~self.valid & self.execute_valid):
            m.d.sync += [self.valid.eq(1), self.fault.eq(self.execute), replaceable.eq(1)]
        return m


class Sticky(wiring.Component):
    """``seen[i]`` is 1 from the cycle after ``bits[i]`` was 1, until reset."""

    def __init__(self, *, width: int) -> None:
        super().__init__({"bits": In(width), "seen": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.seen.eq(self.seen | self.bits)
        return m
