"""The list's reads and the L1's lines on one port to memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.memory import memory_port_signature
from ...lib.component import Component

__all__ = ["ListPort"]


class ListPort(Component):
    """Combinational; one request and one answer a cycle. The L1 goes first, but what is offered stays offered.

    So the list is read when the L1 asks for nothing, which it does in the end: without the list no access is looked up.
    Reset: nothing is held.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: The lines of loads and stores.
            "l1": In(memory_port_signature(config, tag_bits=config.l1_tag_bits)),
            #: The lines of the list; reads only.
            "reader": In(memory_port_signature(config, tag_bits=config.l1_tag_bits)),
            #: The unit's port. A tag is the source (0 L1, 1 list) above the source's own tag.
            "mem": Out(memory_port_signature(config, tag_bits=config.lsu_tag_bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        l1, reader, out = self.l1.request, self.reader.request, self.mem.request
        answer, held, use_reader = self.mem.response, Signal(), Signal()
        m.d.comb += [
            use_reader.eq(held | ~l1.valid),
            out.valid.eq(l1.valid | reader.valid),
            l1.ready.eq(out.ready & ~use_reader),
            reader.ready.eq(out.ready & use_reader),
            out.payload.line.eq(Mux(use_reader, reader.payload.line, l1.payload.line)),
            out.payload.tag.eq(Mux(use_reader, Cat(reader.payload.tag, Const(1, 1)), l1.payload.tag)),
            out.payload.write.eq(~use_reader & l1.payload.write),
            out.payload.byte_mask.eq(l1.payload.byte_mask),
            out.payload.data.eq(l1.payload.data),
        ]
        m.d.sync += held.eq(use_reader & reader.valid & ~out.ready)
        to_reader = answer.payload.tag[-1]
        m.d.comb += answer.ready.eq(Mux(to_reader, self.reader.response.ready, self.l1.response.ready))
        for mine, source in ((~to_reader, self.l1), (to_reader, self.reader)):
            m.d.comb += [
                source.response.valid.eq(answer.valid & mine),
                source.response.payload.tag.eq(answer.payload.tag),
                source.response.payload.error.eq(answer.payload.error),
                source.response.payload.data.eq(answer.payload.data),
            ]
        return m
