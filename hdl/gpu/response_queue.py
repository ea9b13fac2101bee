"""The queue in which the responses of one SM wait for it, so that no other SM's response waits."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.memory import memory_response_layout
from ..lib.component import Component

__all__ = ["ResponseQueue"]


class ResponseQueue(Component):
    """Takes each response in the cycle in which it arrives, and offers the oldest until the SM takes it.

    A response that arrives while none waits is offered in the same cycle. There is a place for each tag of the SM, and
    no tag is used again before its response was taken. ``arriving.ready`` is therefore 1 whenever a response arrives.
    Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self._layout = memory_response_layout(config)
        self._depth = 1 << config.mem_tag_bits
        super().__init__({
            "arriving": In(stream.Signature(self._layout)),  # from memory
            "offered": Out(stream.Signature(self._layout)),  # to the SM
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.waiting = waiting = SyncFIFO(width=self._layout.size, depth=self._depth)
        arriving, offered = self.arriving, self.offered
        first = Signal(self._layout.size)
        m.d.comb += [
            arriving.ready.eq(waiting.w_rdy),
            offered.valid.eq(waiting.r_rdy | arriving.valid),
            first.eq(Mux(waiting.r_rdy, waiting.r_data, arriving.payload.as_value())),
            offered.payload.as_value().eq(first),
            waiting.w_data.eq(arriving.payload.as_value()),
            waiting.w_en.eq(arriving.valid & (waiting.r_rdy | ~offered.ready)),
            waiting.r_en.eq(offered.ready),
        ]
        return m
