"""Answers of memory: lines for the loads that wait for them and for the cache, completions for the write buffer."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.memory import memory_response_layout
from .misses import fill_tag_bits
from .port import lsu_tag_bits
from .records import LINE_BITS
from .write_buffer import buffer_number_bits

__all__ = ["FillStage"]


class FillStage(wiring.Component):
    """Holds one line from memory until the parts that wait for it are answered.

    A line that is accepted in cycle r (``accepts``) is in the register from r+1 on, and goes into the cache in r+1
    (``install``; not a line with an error, nor an uncached one) with the bytes of the stores that came after its
    request laid over it: those are not in memory yet. Its parts leave one a cycle, the first in r (:class:`PartTable`,
    ``take``), and get the line as memory sent it: their loads came before those stores. The register is free for the
    next line, and the miss register with it (``release``), in the cycle in which the last part leaves the response
    stage: one line a cycle where each has one part. Completions of stores pass it by.

    Ports
    -----
    ``response``: from memory, with the unit's tags. ``asked``/``asked_line``, ``release``/``filled``: the miss
    registers. ``left``, ``take``, ``take_filled``: the table of parts. ``joined``, ``joined_miss``: a load joins a miss
    register in this cycle. ``slot_free``: the response stage takes a part; it sees it, ``data`` and ``error`` from the
    next cycle on. ``peek_free``: the write buffer's bytes may be looked up with ``accepts``; in the next cycle they are
    ``peek_mask`` and ``peek_data``. ``completed``, ``completed_number``, ``completed_error``: a line of the write
    buffer; not accepted unless ``fault_free``.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        line, bits = 8 * config.line_bytes, fill_tag_bits(config)
        super().__init__({
            "response": In(stream.Signature(memory_response_layout(config, tag_bits=lsu_tag_bits(config)))),
            "accepts": Out(1), "asked": Out(bits), "asked_line": In(LINE_BITS), "release": Out(1), "filled": Out(bits),
            "left": In(1), "take": Out(1), "take_filled": Out(1), "joined": In(1), "joined_miss": In(bits),
            "slot_free": In(1), "data": Out(line), "error": Out(1),
            "peek_free": In(1), "peek_mask": In(config.line_bytes), "peek_data": In(line),
            "install": Out(1), "line": Out(LINE_BITS), "install_data": Out(line),
            "completed": Out(1), "completed_number": Out(buffer_number_bits(config)), "completed_error": Out(1),
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
                valid & ~self.left & self.slot_free & ~(self.joined & (self.joined_miss == self.filled))
            ),
            room.eq((~valid | self.release) & self.peek_free),
            response.ready.eq(Mux(completion, self.fault_free, room)),
            self.accepts.eq(response.valid & ~completion & room),
            self.take.eq(self.accepts | (valid & self.left & self.slot_free)),
            self.take_filled.eq(~self.accepts),
            self.completed.eq(response.valid & completion & self.fault_free),
            self.completed_number.eq(answer.tag),
            self.completed_error.eq(self.completed & answer.error),
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
