"""The sets from which the two oracle schedulers pick (paper 000, section VI-A4; docs/policies.md, "The oracles")."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.probe import ORACLES

__all__ = ["OracleSets"]


class OracleSets(wiring.Component):
    """``eligible[0]`` is osched1's set, ``eligible[1]`` osched2's; combinational but for what they remember.

    All masks have one bit a warp. The issue scheduler's own set is ``may_issue & ~empty & head_ready``, where
    ``may_issue`` is all that it asks of a warp besides its buffer. osched1 takes an ``empty`` buffer for a ready one.
    osched2 does too, unless the warp is excused: a miss is outstanding (``suspended``, or ``missed`` in this very
    cycle), or an excuse has ended d cycles ago or less: its miss was served, or its flow was ``redirected``. After
    such an event in cycle c the warp fetches in c+1 at the earliest and issues that instruction in c+1+d: c+1 to c+d
    are the bubble that no fetch policy avoids.

    ``halt``: both sets are empty, as the issue scheduler's is. Reset: nobody is excused.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        masks = ("may_issue", "head_ready", "empty", "suspended", "missed", "redirected")
        members: dict[str, In | Out] = {name: In(config.warps) for name in masks}
        super().__init__({**members, "halt": In(1), "eligible": Out(data.ArrayLayout(config.warps, ORACLES))})

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
