"""The answers of the L2: memory's, one by one to all who wait for them, and those of hits."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...layouts.memory import memory_response_layout
from ...lib.component import Component

__all__ = ["L2Answers"]


class L2Answers(Component):
    """A register for the answer of memory, and one for the tag of a hit; both answer at one port.

    An answer that memory gives in cycle r is in the register from r+1 on. Those who wait for it are answered from then
    on, one a cycle, and the line goes into the cache in r+1. The register is free for the next answer in the cycle of
    the last one. A line of memory goes before a hit, except that an answer that is offered stays until it is accepted.
    Reset: empty.
    """

    def __init__(self, config: SmConfig, *, tag_bits: int, number_bits: int) -> None:
        self._number_bits = number_bits
        layout = memory_response_layout(config, tag_bits=tag_bits)
        super().__init__({
            "mem": In(stream.Signature(layout)),  # from memory; a tag is the number of an entry
            "out": Out(stream.Signature(layout)),  # to those who have asked
            "asked": Out(number_bits),  # the entry that memory answers
            "accepted": Out(1),  # this answer is accepted
            "asked_line": In(LINE_NUMBER_BITS),  # combinational: the line of that entry
            "asked_keeps": In(1),  # combinational: the line may go into the cache
            "forget": In(1),  # a line that is accepted in this cycle does not go into the cache
            "filled": Out(number_bits),  # the entry whose answer is in the register
            "first": Out(1),  # that entry has not been answered itself
            "answered": Out(1),  # the next one of those who wait for it is answered
            "next_tag": In(tag_bits),  # combinational: the tag of that one
            "last": In(1),  # combinational: there is no other
            "install": Out(1),  # the line in the register goes into the cache. Registered
            "line": Out(LINE_NUMBER_BITS),  # with ``install``: its number. Registered
            "data": Out(8 * config.line_bytes),  # with ``install``: its bytes. Registered
            "hit": In(1),  # a read hits; only while ``hit_free``
            "hit_free": Out(1),  # the register of hits is empty, or is emptied in this cycle
            "hit_tag": In(tag_bits),  # with ``hit``: the tag of the read
            "hit_data": In(8 * config.line_bytes),  # from the cycle after ``hit`` on: the line
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        filled, error, keeps, fresh = Signal(), Signal(), Signal(), Signal()
        hit, hit_tag, hit_stays, gives_hit = Signal(), Signal.like(self.hit_tag), Signal(), Signal()
        out, answer, released = self.out, self.mem.payload, Signal()
        m.d.comb += [
            gives_hit.eq(hit & (hit_stays | ~filled)),
            out.valid.eq(hit | filled),
            self.answered.eq(filled & ~gives_hit & out.ready),
            released.eq(self.answered & self.last),
            self.mem.ready.eq(~filled | released),
            self.accepted.eq(self.mem.valid & self.mem.ready),
            self.asked.eq(answer.tag[: self._number_bits]),
            self.install.eq(fresh & keeps & ~error),
            self.hit_free.eq(~hit | (gives_hit & out.ready)),
            *self._payload(gives_hit, hit_tag=hit_tag, error=error),
        ]
        m.d.sync += [
            filled.eq(self.accepted | (filled & ~released)),
            fresh.eq(self.accepted),
            hit_stays.eq(gives_hit & ~out.ready),
            hit.eq(self.hit | (hit & ~self.hit_free)),
        ]
        with m.If(self.hit):
            m.d.sync += hit_tag.eq(self.hit_tag)
        with m.If(self.accepted):
            m.d.sync += [
                self.filled.eq(self.asked), self.first.eq(1), self.line.eq(self.asked_line), self.data.eq(answer.data),
                error.eq(answer.error), keeps.eq(self.asked_keeps & ~self.forget),
            ]
        with m.Elif(self.answered):
            m.d.sync += self.first.eq(0)
        return m

    def _payload(self, gives_hit: Signal, *, hit_tag: Signal, error: Signal) -> list[Any]:
        answer = self.out.payload
        return [
            answer.tag.eq(Mux(gives_hit, hit_tag, self.next_tag)),
            answer.error.eq(~gives_hit & error),
            answer.data.eq(Mux(gives_hit, self.hit_data, self.data)),
        ]
