"""Answers of memory: lines for waiting loads and for the cache, completions for the write buffer."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.memory import memory_response_layout
from ...lib.component import Component
from .signatures import fill_signature, lookup_signature, mshrs_signature, write_buffer_signature

__all__ = ["FillStage"]


class FillStage(Component):
    """Holds one line from memory until the parts that wait for it are answered.

    A line accepted in cycle r (``accepts``) is in the register from r+1 on. It goes into the cache in r+1
    (``install``), unless it has an error or is uncached, merged with the bytes of stores that came after its request:
    those are not in memory yet. Its parts leave one a cycle, the first in r, and get the line as memory sent it: their
    loads came before those stores. The register is free for the next line, and its MSHR too (``release``), in the cycle
    in which the last part leaves the response stage: one line a cycle if each has one part. With a ``lookup_latency``
    of 2 the next line is accepted a cycle later: one in two cycles. Completions of stores bypass the register. Reset:
    empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            #: From memory, with the LSU's tags (:class:`LineRequests`).
            "response": In(stream.Signature(memory_response_layout(config, tag_bits=config.l1_tag_bits))),
            #: The answer that arrives, and the line in the register.
            "out": Out(fill_signature(config)),
            "lookup": In(lookup_signature(config)),  # from the lookup stage
            "mshrs": In(mshrs_signature(config)),  # of the line that memory offers
            "buffer": In(write_buffer_signature(config)),  # of the line that was accepted
            #: A part waits for the line in the register. From the table of parts.
            "left": In(1),
            #: The response stage takes a part; it sees the part, ``data`` and ``error`` from the next cycle on.
            "slot_free": In(1),
            #: The line as memory sent it. Registered.
            "data": Out(8 * config.line_bytes),
            #: Memory refused it. Registered.
            "error": Out(1),
            #: Memory has completed a line of the write buffer with an error.
            "completed_error": Out(1),
            #: The register for the fault of a store is free: without it no completion is accepted.
            "fault_free": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        response, answer = self.response, self.response.payload
        out, mshrs, buffer = self.out, self.mshrs, self.buffer
        valid, fresh, completion, room = Signal(), Signal(), Signal(), Signal()
        user = self.config.memory_map.user // self.config.line_bytes
        early = self.config.lookup_latency > 1
        # With a data cache, only a cached load joins, and its line has one MSHR.
        joins: Value = mshrs.joined == out.filled
        if early:
            joins = mshrs.same.bit_select(out.filled, 1) & bool(self.config.dcache_bytes)
        m.d.comb += [
            completion.eq(answer.tag[-1]),
            out.asked.eq(answer.tag),
            out.release.eq(
                valid & ~self.left & self.slot_free & ~(self.lookup.add & joins)
            ),
            room.eq(~valid | out.release),
            response.ready.eq(Mux(completion, self.fault_free, room)),
            out.accepts.eq(response.valid & ~completion & room),
            out.take.eq(out.accepts | (valid & self.left & self.slot_free)),
            out.take_filled.eq(~out.accepts),
            out.completed.eq(response.valid & completion & self.fault_free),
            out.completed_number.eq(answer.tag),
            self.completed_error.eq(out.completed & answer.error),
            out.here.eq(valid),
            out.install_data.eq(self.data),
        ]
        if early:
            m.d.comb += [room.eq(~valid), out.take_filled.eq(valid)]
        loads: Value = out.accepts
        if early:
            # The register is loaded while it is free, because ``accepts`` comes later; a register of its own says so.
            loads = Signal(init=1, name="empty")
            m.d.sync += loads.eq(~out.accepts & (~valid | out.release))
        if self.config.dcache_bytes:
            self._install(m, fresh, user, loads=loads)
        m.d.sync += [valid.eq(out.accepts | (valid & ~out.release)), fresh.eq(out.accepts)]
        with m.If(loads):
            m.d.sync += [
                out.filled.eq(answer.tag), out.line.eq(mshrs.asked_line),
                self.data.eq(answer.data), self.error.eq(answer.error),
            ]
        with m.If((out.install & buffer.peek_mask.any()) if not early else 1):
            mask = Cat(buffer.peek_mask[byte].replicate(8) for byte in range(self.config.line_bytes))
            m.d.comb += out.install_data.eq((self.data & ~mask) | (buffer.peek_data & mask))
        return m

    def _install(self, m: Module, fresh: Signal, user: int, *, loads: Value) -> None:
        """Let the line go into the cache; with a ``lookup_latency`` of 2 a register says so.

        ``loads``: the register takes what memory offers.
        """
        out, answer = self.out, self.response.payload
        if self.config.lookup_latency == 1:
            m.d.comb += out.install.eq(fresh & ~self.error & (out.line >= user))
        else:
            m.d.comb += out.installs.eq(out.accepts & ~answer.error & (~self.mshrs.asked_uncached))
            m.d.sync += [out.install.eq(out.installs), out.quiet.eq(~out.installs)]
            m.d.comb += [out.comes.eq(loads), out.next_set.eq(self.mshrs.asked_set)]
            with m.If(loads):
                m.d.sync += out.set.eq(out.next_set)
