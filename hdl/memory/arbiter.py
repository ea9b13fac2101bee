"""The memory-port arbiter: I-cache and LSU share one port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.memory import memory_port_signature
from ..lib.component import Component
from ..lib.partitions import named

__all__ = ["MemoryArbiter", "share_port"]


class MemoryArbiter(Component):
    """Arbitrates the memory port; combinational, one request and one response a cycle.

    The I-cache has priority, but an LSU request that was offered to memory and not accepted stays until it is.
    ``port.request.valid`` does not depend on ``ready``, nor a source's ``ready`` on its own ``valid``. Reset: nothing
    is held. The data bytes of a read mean nothing and may change while it is offered.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: The fetches' lines, of each partition; reads only.
            **{named("icache", p): In(memory_port_signature(config, tag_bits=config.partition.icache_tag_bits))
               for p in range(config.schedulers)},
            #: The lines of loads and stores.
            "lsu": In(memory_port_signature(config, tag_bits=config.lsu_tag_bits)),
            #: The SM's memory port. A tag here is the source (0 I-cache, 1 LSU) above the source's own tag,
            #: zero-extended; responses are routed by that bit.
            "port": Out(memory_port_signature(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        icache = self.icache if self.config.schedulers == 1 else self._fetches(m)
        # The I-cache never writes.
        share_port(m, self.port, first=icache, second=self.lsu, writer=self.lsu)
        return m

    def _fetches(self, m: Module) -> Any:
        """Merge the requests of the partitions' I-caches: each is offered in turn, until it is accepted.

        The number of the partition is below the I-cache's own tag.
        """
        config, count = self.config, self.config.schedulers
        merged = memory_port_signature(config, tag_bits=config.icache_tag_bits).create(path=("fetches",))
        turn = Signal(range(count))
        bits = (count - 1).bit_length()
        request, response = merged.request, merged.response
        with m.If(~request.valid | request.ready):
            m.d.sync += turn.eq(turn + 1)
        for p in range(count):
            port = getattr(self, named("icache", p))
            with m.If(turn == p):
                m.d.comb += [
                    request.valid.eq(port.request.valid), port.request.ready.eq(request.ready),
                    request.payload.line.eq(port.request.payload.line),
                    request.payload.tag.eq(Cat(Const(p, bits), port.request.payload.tag)),
                ]
            mine = response.payload.tag[:bits] == p
            m.d.comb += [
                port.response.valid.eq(response.valid & mine),
                port.response.payload.tag.eq(response.payload.tag[bits:]),
                *(port.response.payload[name].eq(response.payload[name]) for name in ("error", "data")),
            ]
            with m.If(mine):
                m.d.comb += response.ready.eq(port.response.ready)
        return merged


def share_port(m: Module, port: Any, *, first: Any, second: Any, writer: Any) -> None:
    """Merge two sources onto ``port``: ``first`` has priority, but a request that is offered and not taken stays.

    Only ``writer``, one of the two, writes: the data bytes, most of a request, need no multiplexer. Tags on the port
    have the source, 0 or 1, above the source's own tag, zero-extended.
    """
    requests, responses = port.request, port.response
    held, use_second = Signal(), Signal()
    m.d.comb += [
        use_second.eq(held | ~first.request.valid),
        requests.valid.eq(first.request.valid | second.request.valid),
        first.request.ready.eq(requests.ready & ~use_second),
        second.request.ready.eq(requests.ready & use_second),
    ]
    m.d.sync += held.eq(use_second & second.request.valid & ~requests.ready)
    source_bits = len(requests.payload.tag) - 1
    to_second = responses.payload.tag[source_bits]
    m.d.comb += [
        requests.payload.tag[source_bits].eq(use_second),
        requests.payload.write.eq((use_second if writer is second else ~use_second) & writer.request.payload.write),
        requests.payload.byte_mask.eq(writer.request.payload.byte_mask),
        requests.payload.data.eq(writer.request.payload.data),
        responses.ready.eq(Mux(to_second, second.response.ready, first.response.ready)),
    ]
    for selected, answered, source in ((~use_second, ~to_second, first), (use_second, to_second, second)):
        with m.If(selected):
            m.d.comb += [
                requests.payload.line.eq(source.request.payload.line),
                requests.payload.tag[:source_bits].eq(source.request.payload.tag),
            ]
        tag = source.response.payload.tag
        m.d.comb += [
            source.response.valid.eq(responses.valid & answered),
            tag.eq(responses.payload.tag[: len(tag)]),
            source.response.payload.error.eq(responses.payload.error),
            source.response.payload.data.eq(responses.payload.data),
        ]
