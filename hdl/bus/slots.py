"""Ids for accesses on a bus: the tag of each, and the answers in the order in which they came."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..lib.component import Component
from ..lib.onehot import encode, lowest_one, one_hot

__all__ = ["Slots", "slot_bits"]


def slot_bits(count: int) -> int:
    """Bits of a slot's number; at least 1."""
    return max(1, (count - 1).bit_length())


class Slots(Component):
    """Numbers up to ``count`` accesses in flight: from ``take`` until the answer is accepted.

    Answers leave in the order of ``done``. One that arrives in cycle c is ``valid`` from c+1 on, if no other waits. A
    number is free in the cycle after its answer is accepted. Reset: all numbers are free. May never happen: ``take``
    while not ``available``, or ``done`` of a number that is free or was done before.
    """

    def __init__(self, *, count: int, tag_bits: int) -> None:
        self._count = count
        self._tag_bits = tag_bits
        bits = slot_bits(count)
        super().__init__({
            "available": Out(1),  # a number is free; from registers
            "slot": Out(bits),  # the free number; from registers
            "take": In(1),  # use this number for an access
            "tag": In(tag_bits),  # with ``take``: the tag of the access
            "done": In(1),  # the answer for ``done_slot`` arrives
            "done_slot": In(bits),  # with ``done``: a number in use
            "done_error": In(1),  # with ``done``: the access failed
            "valid": Out(1),  # an answer is offered; stable, like the signals below, until ``ready``
            "number": Out(bits),  # with ``valid``: the number of its access
            "answer_tag": Out(tag_bits),  # with ``valid``: the tag of its access
            "error": Out(1),  # with ``valid``: the access failed
            "ready": In(1),  # the answer is accepted
            "busy": Out(1),  # a number is in use
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, bits = self._count, slot_bits(self._count)
        taken = Signal(count)
        started, ended = Signal(count), Signal(count)
        m.submodules.tags = tags = Memory(shape=self._tag_bits, depth=count, init=[])
        m.submodules.waiting = waiting = SyncFIFO(width=bits + 1, depth=count)
        write, read = tags.write_port(), tags.read_port(domain="comb")
        arrived, load = Signal(bits + 1), Signal()
        m.d.comb += [
            self.available.eq(~taken.all()),
            self.slot.eq(encode(lowest_one(~taken))),
            self.busy.eq(taken.any()),
            started.eq(Mux(self.take, one_hot(self.slot, count), 0)),
            ended.eq(Mux(self.valid & self.ready, one_hot(self.number, count), 0)),
            write.addr.eq(self.slot), write.data.eq(self.tag), write.en.eq(self.take),
            read.addr.eq(self.number), self.answer_tag.eq(read.data),
            load.eq(~self.valid | self.ready),
            arrived.eq(Cat(self.done_slot, self.done_error)),
            # An answer that finds no other waiting and the output free does not queue.
            waiting.w_data.eq(arrived), waiting.w_en.eq(self.done & (waiting.r_rdy | ~load)),
            waiting.r_en.eq(load),
        ]
        m.d.sync += taken.eq((taken & ~ended) | started)
        with m.If(load):
            m.d.sync += [
                self.valid.eq(waiting.r_rdy | self.done),
                Cat(self.number, self.error).eq(Mux(waiting.r_rdy, waiting.r_data, arrived)),
            ]
        return m
