"""The fault that stops the SM."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.execute import fault_layout
from ..lib.component import Component

__all__ = ["FaultLatch"]


class FaultLatch(Component):
    """Keeps the first fault until reset; a fault of stage X is replaced by an older one of its warp.

    A load or store reports its fault later than the instructions after it. After a fault in stage X, one that the LSU
    reports for the same warp is thus older (later instructions were cancelled) and replaces it. Between two in one
    cycle the LSU's counts, for the same reason. Among those from the LSU the first counts, which may be the younger.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({
            "execute_valid": In(1),  # the instruction in stage X faults in this cycle
            "execute": In(fault_layout(config)),  # the fault of this instruction
            "lsu_valid": In(1),  # the LSU reports a fault in this cycle
            "lsu": In(fault_layout(config)),  # that fault, perhaps of an instruction selected long ago
            "valid": Out(1),  # a fault has occurred; from the cycle after it until reset
            "fault": Out(fault_layout(config)),  # the one that counts; undefined without `valid`
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        replaceable = Signal()
        older = replaceable & (self.lsu.warp == self.fault.warp)
        with m.If(self.lsu_valid & (~self.valid | older)):
            m.d.sync += [self.valid.eq(1), self.fault.eq(self.lsu), replaceable.eq(0)]
        with m.Elif(~self.valid):
            # Whether there is one comes late: its details are kept in any case.
            m.d.sync += [self.valid.eq(self.execute_valid), self.fault.eq(self.execute),
                         replaceable.eq(self.execute_valid)]
        return m
