"""The two kinds of line requests of the L1 on its one port to memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.memory import memory_request_layout
from ...lib.component import Component
from .records import load_request_layout, store_request_layout

__all__ = ["LineRequests"]


class LineRequests(Component):
    """Alternates between lines of loads and of stores if both ask; combinational, but an offered request stays.

    One request a cycle. The data bytes of a load's request mean nothing and may change while it is offered. Reset: a
    store goes first if both ask.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: The lines that loads need, from the MSHRs.
            "load": In(stream.Signature(load_request_layout(config))),
            #: The lines with stores, from the write buffer.
            "store": In(stream.Signature(store_request_layout(config))),
            #: To memory. A tag is the number of the MSHR or of the entry, below a bit: 0 a load's, 1 a store's.
            "request": Out(stream.Signature(memory_request_layout(config, tag_bits=config.l1_tag_bits))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        load, store, request = self.load, self.store, self.request
        use_store, stored, held = Signal(), Signal(), Signal()
        number = Signal(self.config.l1_tag_bits - 1)
        m.d.comb += [
            # Until memory takes the offered request, ``stored`` holds its kind; after that, whose turn it was.
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
