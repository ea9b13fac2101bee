"""Chosen lanes become line accesses: their bytes are put together, at once or in the next cycle."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component
from ...lib.onehot import one_hot
from ..seam import access_layout
from .assembler import LineAssembler
from .records import chosen_layout

__all__ = ["LineAccesses"]


class LineAccesses(Component):
    """Puts the bytes of the lanes that the coalescer has chosen together, and passes the accesses on in order.

    With a ``lookup_latency`` of 1 it is combinational. With 2 it is a queue of two: an access that is chosen in cycle c
    is at ``access`` in c+1 at the earliest, one a cycle, and ``chosen.ready`` is a register. Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: From the coalescer.
            "chosen": In(stream.Signature(chosen_layout(config))),
            #: To the L1, or to a unit in front of it.
            "access": Out(stream.Signature(access_layout(config))),
            #: The warps with stores in the queue. Registered state only.
            "stores": Out(config.warps),
            #: The queue holds an access. Registered state only.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, access = self.config, self.access
        first = self._queue(m) if config.lookup_latency > 1 else self.chosen.payload
        if config.lookup_latency == 1:
            m.d.comb += [access.valid.eq(self.chosen.valid), self.chosen.ready.eq(access.ready)]
        m.submodules.assembler = assembler = LineAssembler(
            threads=config.threads, words_per_line=config.words_per_line
        )
        m.d.comb += [
            access.payload.part.eq(first.part), access.payload.write.eq(first.write),
            access.payload.first.eq(first.first), access.payload.set.eq(first.set),
            assembler.lanes.eq(first.part.mask),
            assembler.offset.eq(first.part.offset),
            assembler.words.eq(first.words),
            assembler.enable.eq(first.enable),
            access.payload.byte_mask.eq(assembler.byte_mask),
            access.payload.data.eq(assembler.data),
        ]
        return m

    def _queue(self, m: Module) -> data.View:
        """The oldest access of the queue, which is offered."""
        chosen, access, warps = self.chosen, self.access, self.config.warps
        layout = chosen_layout(self.config)
        first, second = Signal(layout), Signal(layout)
        valid, more, leaves = Signal(), Signal(), Signal()
        m.d.comb += [
            leaves.eq(~valid | access.ready),
            chosen.ready.eq(~more),
            access.valid.eq(valid),
            self.busy.eq(valid),
            self.stores.eq(
                Mux(valid & first.write, one_hot(first.part.warp, warps), 0)
                | Mux(more & second.write, one_hot(second.part.warp, warps), 0)
            ),
        ]
        with m.If(~more):
            m.d.sync += second.eq(chosen.payload)
        with m.If(leaves):
            m.d.sync += [first.eq(Mux(more, second, chosen.payload)), valid.eq(more | chosen.valid), more.eq(0)]
        with m.Elif(chosen.valid):
            m.d.sync += more.eq(1)
        return first
