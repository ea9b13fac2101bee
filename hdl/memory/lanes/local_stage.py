"""The local access that the banks serve: at once, or from a register."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component
from .records import local_access_layout

__all__ = ["LocalStage"]


class LocalStage(Component):
    """Passes the local access of the coalescer's head on to the banks.

    With a ``lookup_latency`` of 1 it is combinational: the lanes that the banks serve leave the head, one step a cycle.
    With 2 there is a register between them: all lanes of the head enter it at once if it is empty, and leave it in as
    many steps as the banks need. An access that enters in cycle c makes its first step in c+1, and the next one enters
    in the cycle after its last step at the earliest. Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        threads = config.threads
        super().__init__({
            #: From the coalescer: an access is offered, its lanes (0 without one), and the rest of it.
            "offered": In(1),
            "lanes": In(threads),  # likewise
            "access": In(local_access_layout(config)),  # likewise
            #: The lanes ``taken`` leave the coalescer in this cycle, if one is offered.
            "ready": Out(1),
            "taken": Out(threads),  # likewise
            #: To the banks: the lanes that want an access (0: none), and the rest of it.
            "wanted": Out(threads),
            "now": Out(local_access_layout(config)),  # likewise
            #: Those that the banks take. Combinational.
            "served": In(threads),
            #: The step is made in this cycle: there is space for its answer, if any. Combinational, of ``now``.
            "space": In(1),
            #: A step is made.
            "step": Out(1),
            #: With ``step``: it is not the last one of the access. 0 without the register.
            "more": Out(1),
            #: The register holds an access.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.config.lookup_latency == 1:
            m.d.comb += [
                self.wanted.eq(self.lanes), self.now.eq(self.access), self.taken.eq(self.served),
                self.ready.eq(self.space), self.step.eq(self.offered & self.space),
            ]
            return m
        left, kept = Signal.like(self.lanes), Signal.like(self.access.as_value())
        m.d.comb += [
            self.busy.eq(left.any()),
            self.wanted.eq(left),
            self.now.eq(kept),
            self.taken.eq(self.lanes),
            self.ready.eq(~self.busy),
            self.step.eq(self.busy & self.space),
            self.more.eq((left & ~self.served).any()),
        ]
        with m.If(self.step):
            m.d.sync += left.eq(left & ~self.served)
        with m.Elif(self.offered & ~self.busy):
            m.d.sync += left.eq(self.lanes)
        with m.If(~self.busy):
            m.d.sync += kept.eq(self.access)
        return m
