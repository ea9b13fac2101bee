"""The sets from which the two oracle schedulers pick (Crouzet 2024, section VI-A4; docs/policies.md, "The oracles")."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.events import ORACLES
from ..lib.component import Component

__all__ = ["OracleSets"]


class OracleSets(Component):
    """``eligible[0]`` is osched1's set, ``eligible[1]`` osched2's; combinational except for the excuses.

    The issue scheduler's own set is ``may_issue & ~empty & head_ready``. osched1 treats an ``empty`` buffer as a ready
    one. osched2 does too, unless the warp is excused: a miss is outstanding (``suspended``, or ``missed`` in this very
    cycle), or an excuse ended at most d cycles ago: its miss was served, or its flow was ``redirected``. After such an
    event in cycle c the warp fetches in c+1 at the earliest and issues that instruction in c+1+d: c+1 to c+d are the
    bubble that no fetch policy avoids. Reset: no warp is excused.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            # Masks have one bit per warp; all refer to the current cycle.
            "may_issue": In(config.warps),  # the issue scheduler only waits for the warp's buffer
            "head_ready": In(config.warps),  # the head may issue; undefined for an empty buffer
            "empty": In(config.warps),  # the buffer is empty
            "suspended": In(config.warps),  # a miss is outstanding
            "missed": In(config.warps),  # a lookup misses in this cycle
            "redirected": In(config.warps),  # the warp's control flow changes
            "halt": In(1),  # a fault has stopped the SM: both sets are empty
            "eligible": Out(data.ArrayLayout(config.warps, ORACLES)),  # the sets
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        depth = config.buffer_depth
        missing = self.suspended | self.missed
        recent = Signal(config.warps)
        for w in range(config.warps):
            left = Signal(range(depth + 1), name=f"excused_{w}")
            with m.If(missing[w] | self.redirected[w]):
                m.d.sync += left.eq(depth)
            with m.Elif(recent[w]):
                m.d.sync += left.eq(left - 1)
            m.d.comb += recent[w].eq(left != 0)
        widened = Signal(config.warps)
        m.d.comb += [
            widened.eq(Mux(self.halt, Const(0, config.warps), self.may_issue & (self.empty | self.head_ready))),
            self.eligible[0].eq(widened),
            self.eligible[1].eq(widened & ~(self.empty & (missing | recent))),
        ]
        return m
