"""Answers of memory: lines for the loads that wait for them and for the cache, completions for the write buffer."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...layouts.memory import memory_response_layout
from ...lib.component import Component
from .records import entry_bits, mshr_bits

__all__ = ["FillStage"]


class FillStage(Component):
    """Holds one line from memory until the parts that wait for it are answered.

    A line that is accepted in cycle r (``accepts``) is in the register from r+1 on, and goes into the cache in r+1
    (``install``; not a line with an error, nor an uncached one) with the bytes of the stores that came after its
    request laid over it: those are not in memory yet. Its parts leave one a cycle, the first in r, and get the line as
    memory sent it: their loads came before those stores. The register is free for the next line, and the MSHR with it
    (``release``), in the cycle in which the last part leaves the response stage: one line a cycle where each has one
    part. Completions of stores pass it by. Reset: empty.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        line, bits = 8 * config.line_bytes, mshr_bits(config)
        super().__init__({
            #: From memory, with the LSU's tags (:class:`LineRequests`).
            "response": In(stream.Signature(memory_response_layout(config, tag_bits=config.l1_tag_bits))),
            #: A line of a load is accepted in this cycle.
            "accepts": Out(1),
            #: The MSHR of the line that memory offers.
            "asked": Out(bits),
            #: The line that this MSHR holds. From the MSHRs, combinational.
            "asked_line": In(LINE_NUMBER_BITS),
            #: The MSHR ``filled`` is done.
            "release": Out(1),
            #: The MSHR of the line in the register.
            "filled": Out(bits),
            #: A part waits for ``filled``. From the table of parts.
            "left": In(1),
            #: A part leaves the table: one that waits for ``asked``, or for ``filled``.
            "take": Out(1),
            #: With ``take``: one that waits for ``filled``.
            "take_filled": Out(1),
            #: A part comes to wait for an MSHR in this cycle. From the lookup stage.
            "joined": In(1),
            #: With ``joined``: which one.
            "joined_mshr": In(bits),
            #: The response stage takes a part; it sees the part, ``data`` and ``error`` from the next cycle on.
            "slot_free": In(1),
            #: The line as memory sent it. Registered.
            "data": Out(line),
            #: Memory refused it. Registered.
            "error": Out(1),
            #: In the cycle after ``accepts``: the bytes of the line that the write buffer has.
            "peek_mask": In(config.line_bytes),
            #: In the cycle after ``accepts``: those bytes.
            "peek_data": In(line),
            #: The line goes into the cache in this cycle.
            "install": Out(1),
            #: A register: a line is there, until its MSHR is done.
            "here": Out(1),
            #: The number of the line in the register.
            "line": Out(LINE_NUMBER_BITS),
            #: With ``install``: the line with the write buffer's bytes laid over it.
            "install_data": Out(line),
            #: Memory has completed a line of the write buffer.
            "completed": Out(1),
            #: With ``completed``: the number of its entry.
            "completed_number": Out(entry_bits(config)),
            #: Memory has completed a line of the write buffer with an error.
            "completed_error": Out(1),
            #: The register for the fault of a store is free: without it no completion is accepted.
            "fault_free": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        response, answer = self.response, self.response.payload
        valid, fresh, completion, room = Signal(), Signal(), Signal(), Signal()
        user = self.config.memory_map.user // self.config.line_bytes
        m.d.comb += [
            completion.eq(answer.tag[-1]),
            self.asked.eq(answer.tag),
            self.release.eq(
                valid & ~self.left & self.slot_free & ~(self.joined & (self.joined_mshr == self.filled))
            ),
            room.eq(~valid | self.release),
            response.ready.eq(Mux(completion, self.fault_free, room)),
            self.accepts.eq(response.valid & ~completion & room),
            self.take.eq(self.accepts | (valid & self.left & self.slot_free)),
            self.take_filled.eq(~self.accepts),
            self.completed.eq(response.valid & completion & self.fault_free),
            self.completed_number.eq(answer.tag),
            self.completed_error.eq(self.completed & answer.error),
            self.here.eq(valid),
            self.install.eq(fresh & ~self.error & (self.line >= user)),
            self.install_data.eq(self.data),
        ]
        m.d.sync += [valid.eq(self.accepts | (valid & ~self.release)), fresh.eq(self.accepts)]
        with m.If(self.accepts):
            m.d.sync += [
                self.filled.eq(answer.tag), self.line.eq(self.asked_line),
                self.data.eq(answer.data), self.error.eq(answer.error),
            ]
        with m.If(self.install & self.peek_mask.any()):
            mask = Cat(self.peek_mask[byte].replicate(8) for byte in range(self.config.line_bytes))
            m.d.comb += self.install_data.eq((self.data & ~mask) | (self.peek_data & mask))
        return m
