"""The memory-port arbiter: I-cache and LSU share one port."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.memory import memory_port_signature
from ..lib.component import Component

__all__ = ["MemoryArbiter"]


class MemoryArbiter(Component):
    """Combinational; one request and one response a cycle.

    The I-cache goes first, but a request of the LSU that was offered to memory and not accepted stays until it is.
    ``port.request.valid`` does not depend on ``ready``, nor a source's ``ready`` on its own ``valid``. Reset: nothing
    is held. The bytes of a read mean nothing and may change while it is offered.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: The fetches' lines; reads only.
            "icache": In(memory_port_signature(config, tag_bits=config.icache_tag_bits)),
            #: The lines of loads and stores.
            "lsu": In(memory_port_signature(config, tag_bits=config.lsu_tag_bits)),
            #: The SM's memory port. A tag here is the source (0 I-cache, 1 LSU) above the source's own tag,
            #: zero-extended; responses are routed by that bit.
            "port": Out(memory_port_signature(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        requests, responses = self.port.request, self.port.response
        held, use_lsu = Signal(), Signal()
        m.d.comb += [
            use_lsu.eq(held | ~self.icache.request.valid),
            requests.valid.eq(self.icache.request.valid | self.lsu.request.valid),
            self.icache.request.ready.eq(requests.ready & ~use_lsu),
            self.lsu.request.ready.eq(requests.ready & use_lsu),
        ]
        m.d.sync += held.eq(use_lsu & self.lsu.request.valid & ~requests.ready)

        source_bits = self.config.mem_tag_bits - 1
        for selected, source in ((~use_lsu, self.icache), (use_lsu, self.lsu)):
            with m.If(selected):
                m.d.comb += [
                    requests.payload.line.eq(source.request.payload.line),
                    requests.payload.tag[:source_bits].eq(source.request.payload.tag),
                ]
        # The I-cache writes nothing: no multiplexer for bytes, which are most of a request.
        m.d.comb += [
            requests.payload.tag[source_bits].eq(use_lsu),
            requests.payload.write.eq(use_lsu & self.lsu.request.payload.write),
            requests.payload.byte_mask.eq(self.lsu.request.payload.byte_mask),
            requests.payload.data.eq(self.lsu.request.payload.data),
        ]

        to_lsu = responses.payload.tag[source_bits]
        m.d.comb += responses.ready.eq(Mux(to_lsu, self.lsu.response.ready, self.icache.response.ready))
        for valid, source in ((~to_lsu, self.icache), (to_lsu, self.lsu)):
            tag = source.response.payload.tag
            m.d.comb += [
                source.response.valid.eq(responses.valid & valid),
                tag.eq(responses.payload.tag[: len(tag)]),
                source.response.payload.error.eq(responses.payload.error),
                source.response.payload.data.eq(responses.payload.data),
            ]
        return m
