"""The L2, or an SM's part of it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import LINE_NUMBER_BITS
from ...layouts.memory import memory_port_signature, memory_request_layout
from ...lib.block_memory import block_memory, registered_read
from ...lib.component import Component
from ...lib.onehot import encode
from ...lib.tags import CacheTags
from ...memory.seam import set_of
from ..config import GpuConfig, L2Kind
from .answers import L2Answers
from .requests import L2Requests

__all__ = ["L2", "l2_counters_layout"]

#: Requests in front of the lookup.
_QUEUE = 2


def l2_counters_layout() -> data.StructLayout:
    """The counters of an L2, since reset."""
    return data.StructLayout({
        "reads": 48,  # reads that were looked up
        "hits": 48,  # those that the cache answered
        "merged": 48,  # those that have joined a request for the same line
        "writes": 48,  # writes that were looked up
    })


class L2(Component):
    """A set-associative cache of lines, write-through, that allocates for reads only and replaces by LRU.

    A request that is accepted in cycle c is looked up in c+1, in order, one a cycle. A hit is answered in c+2. A miss
    or a write is at ``mem`` from c+2 on; docs/gpu.md has the conditions on which it waits. Every request is answered
    once. Lines below ``memory_map.user``, and those that memory answers with an error, are never in the cache.

    Requests to one line are done in the order of their lookups: a write waits for all that memory has not answered,
    and a read that misses for a write. So the cache never has a byte older than that of memory; it has the bytes of a
    write from its lookup on.

    Reset: empty. With ``l2`` divided this is the part of one SM.
    """

    def __init__(self, config: GpuConfig) -> None:
        self._config = config
        self._divided = config.l2 is L2Kind.DIVIDED
        self._tag_bits = config.sm.mem_tag_bits if self._divided else config.mem_tag_bits
        members = {
            #: From the SMs.
            "sms": In(memory_port_signature(config.sm, tag_bits=self._tag_bits)),
            #: To memory. A tag is the number of an entry of :class:`L2Requests`.
            "mem": Out(memory_port_signature(config.sm, tag_bits=self._tag_bits)),
            "counters": Out(l2_counters_layout()),  # registered
        }
        if self._divided:
            #: The cache is empty from the next cycle on, and no line that was asked for before goes into it.
            members["invalidate"] = In(1)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, line_bytes = self._config, self._config.sm.line_bytes
        bits = (config.l2_sets - 1).bit_length()
        m.submodules.requests = requests = L2Requests(count=config.part_requests, tag_bits=self._tag_bits)
        m.submodules.answers = answers = L2Answers(
            config.sm, tag_bits=self._tag_bits, number_bits=len(requests.number))
        m.submodules.tags = tags = CacheTags(
            ways=config.part_ways, sets=config.l2_sets, tag_bits=LINE_NUMBER_BITS - bits)
        for name in ("asked", "accepted", "filled", "first", "answered"):
            m.d.comb += getattr(requests, name).eq(getattr(answers, name))
        for name in ("asked_line", "asked_keeps", "next_tag", "last"):
            m.d.comb += getattr(answers, name).eq(getattr(requests, name))
        connect(m, flipped(self.mem.response), answers.mem)
        connect(m, answers.out, flipped(self.sms.response))
        if self._divided:
            m.d.comb += [port.eq(self.invalidate) for port in (tags.invalidate, requests.forget, answers.forget)]

        valid, head, goes = self._queue(m)
        looked_up, filled = set_of(head.line, bits), set_of(answers.line, bits)
        sends = self._lookup(m, valid, head, goes, requests, answers, hit=tags.hit, same_set=looked_up == filled)
        m.d.comb += [
            *(port.eq(looked_up) for port in tags.set), tags.tag.eq(head.line[bits:]), tags.use.eq(goes & tags.hit),
            tags.fill.eq(answers.install), tags.fill_set.eq(filled), tags.fill_tag.eq(answers.line[bits:]),
        ]
        self._send(m, head, requests, goes & sends)
        m.submodules.lines = lines = block_memory(
            shape=data.ArrayLayout(8, line_bytes), depth=config.l2_sets * config.part_ways)
        place, writer = Cat(looked_up, encode(tags.hit_ways)), lines.write_port(granularity=1)
        m.d.comb += [
            answers.hit_data.eq(registered_read(m, lines, address=place, enable=answers.hit, name="line_read")),
            writer.addr.eq(Mux(answers.install, Cat(filled, encode(tags.victim)), place)),
            writer.en.eq(Mux(
                answers.install, (1 << line_bytes) - 1, Mux(goes & head.write & tags.hit, head.byte_mask, 0))),
            writer.data.as_value().eq(Mux(answers.install, answers.data, head.data)),
        ]
        return m

    def _queue(self, m: Module) -> tuple[Value, data.View, Signal]:
        """Whether there is a request in the lookup, that request, and a signal to let it go."""
        layout = memory_request_layout(self._config.sm, tag_bits=self._tag_bits)
        request, goes = self.sms.request, Signal(name="goes")
        m.submodules.queue = queue = SyncFIFO(width=layout.size, depth=_QUEUE)
        m.d.comb += [
            queue.w_data.eq(request.payload), queue.w_en.eq(request.valid), request.ready.eq(queue.w_rdy),
            queue.r_en.eq(goes),
        ]
        return queue.r_rdy, data.View(layout, queue.r_data), goes

    def _lookup(
        self, m: Module, valid: Value, head: data.View, goes: Signal, requests: L2Requests, answers: L2Answers, *,
        hit: Value, same_set: Value,
    ) -> Value:
        """Decide whether the request in the lookup goes; return whether it then goes to memory."""
        request, user = self.mem.request, self._config.sm.memory_map.user // self._config.sm.line_bytes
        reads_hit, sends, may_send = Signal(), Signal(), Signal()
        m.d.comb += [
            requests.line.eq(head.line), requests.write.eq(head.write), requests.tag.eq(head.tag),
            requests.cached.eq(head.line >= user),
            reads_hit.eq(~head.write & hit),
            sends.eq(head.write | (~hit & ~requests.read_open)),
            may_send.eq(
                (~request.valid | request.ready) & ~Mux(head.write, requests.some_open, requests.write_open)),
            # The memory of lines has one port for writes; and the tags of a set change when a line goes into it.
            goes.eq(
                valid & ~(answers.install & (head.write | same_set))
                & Mux(reads_hit, answers.hit_free, ~requests.full & (~sends | may_send))),
            requests.add.eq(goes & ~reads_hit),
            requests.joins.eq(~sends),
            answers.hit.eq(goes & reads_hit),
            answers.hit_tag.eq(head.tag),
        ]
        counted = {
            "reads": ~head.write, "hits": reads_hit, "merged": ~reads_hit & ~sends, "writes": head.write,
        }
        for name, happens in counted.items():
            with m.If(goes & happens):
                m.d.sync += self.counters[name].eq(self.counters[name] + 1)
        return sends

    def _send(self, m: Module, head: Any, requests: L2Requests, sent: Value) -> None:
        """The register in front of memory."""
        request = self.mem.request
        with m.If(~request.valid | request.ready):
            m.d.sync += request.valid.eq(sent)
        with m.If(sent):
            m.d.sync += [
                request.payload.tag.eq(requests.number),
                *(request.payload[name].eq(head[name]) for name in ("line", "write", "byte_mask", "data")),
            ]
