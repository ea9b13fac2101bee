"""The unit's two kinds of line requests on its one port to memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.memory import memory_request_layout
from .misses import fill_tag_bits
from .port import lsu_tag_bits
from .records import LINE_BITS
from .write_buffer import buffer_number_bits

__all__ = ["LineRequests"]


class LineRequests(wiring.Component):
    """Loads' and stores' lines take turns where both ask; combinational, but what is offered stays offered.

    A tag is the number of the miss register or of the write buffer's entry, below a bit that says which. The
    bytes of a load's request mean nothing and may change while it is offered.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            "load": In(stream.Signature(data.StructLayout({"number": fill_tag_bits(config), "line": LINE_BITS}))),
            "store": In(stream.Signature(data.StructLayout({
                "number": buffer_number_bits(config), "line": LINE_BITS,
                "byte_mask": config.line_bytes, "data": 8 * config.line_bytes,
            }))),
            "request": Out(stream.Signature(memory_request_layout(config, tag_bits=lsu_tag_bits(config)))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        load, store, request = self.load, self.store, self.request
        use_store, stored, held = Signal(), Signal(), Signal()
        number = Signal(lsu_tag_bits(self.config) - 1)
        m.d.comb += [
            # Until memory takes what is offered, ``stored`` says what that is; after that, whose turn it was.
            use_store.eq(Mux(held, stored, store.valid & ~(load.valid & stored))),
            request.valid.eq(load.valid | store.valid),
            load.ready.eq(request.ready & ~use_store),
            store.ready.eq(request.ready & use_store),
            number.eq(Mux(use_store, store.payload.number, load.payload.number)),
            request.payload.tag.eq(Cat(number, use_store)),
            request.payload.line.eq(Mux(use_store, store.payload.line, load.payload.line)),
            request.payload.write.eq(use_store),
            request.payload.byte_mask.eq(store.payload.byte_mask),
            request.payload.data.eq(store.payload.data),
        ]
        with m.If(request.valid):
            m.d.sync += [stored.eq(use_store), held.eq(~request.ready)]
        return m
