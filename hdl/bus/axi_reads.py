"""Line reads over AXI4: one burst each, whose beats may interleave with those of other bursts."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS
from ..lib.component import Component
from ..lib.onehot import one_hot
from .slots import Slots, slot_bits

__all__ = ["AxiReads"]


class AxiReads(Component):
    """One burst of a whole line for each request; answers come in the order of their last beats.

    A request accepted in cycle c is offered at ``ar`` from c+1 on, one per cycle. An answer is valid in the cycle after
    its last beat, or after the answers that wait ahead of it. Beats are always accepted, because space is reserved for
    the line of each request. Beats of different reads may interleave. Reset: idle. The effect of a beat that was not
    requested is undefined.
    """

    def __init__(self, *, line_bytes: int, data_bits: int, tag_bits: int, slots: int) -> None:
        self._data_bits, self._tag_bits, self._slots = data_bits, tag_bits, slots
        self._beats = 8 * line_bytes // data_bits
        bits = slot_bits(slots)
        super().__init__({
            #: Lines to read.
            "request": In(stream.Signature(data.StructLayout({"line": LINE_NUMBER_BITS, "tag": tag_bits}))),
            #: The address of each burst; the slot is its id.
            "ar": Out(stream.Signature(data.StructLayout({"line": LINE_NUMBER_BITS, "slot": bits}))),
            "r_valid": In(1),  # a beat arrives; always accepted
            "r_slot": In(bits),  # with ``r_valid``: the slot of its burst
            "r_data": In(data_bits),  # with ``r_valid``: its bytes
            "r_error": In(1),  # with ``r_valid``: the beat failed
            #: The lines read; with ``error``, a beat failed.
            "response": Out(stream.Signature(data.StructLayout({
                "tag": tag_bits, "error": 1, "data": 8 * line_bytes,
            }))),
            "busy": Out(1),  # an answer has not been accepted yet
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slots = slots = Slots(count=self._slots, tag_bits=self._tag_bits)
        load, taken = Signal(), Signal()
        m.d.comb += [
            load.eq(~self.ar.valid | self.ar.ready),
            self.request.ready.eq(load & slots.available),
            taken.eq(self.request.valid & self.request.ready),
            slots.take.eq(taken),
            slots.tag.eq(self.request.payload.tag),
            self.response.valid.eq(slots.valid),
            self.response.payload.tag.eq(slots.answer_tag),
            self.response.payload.error.eq(slots.error),
            slots.ready.eq(self.response.ready),
            self.busy.eq(slots.busy),
        ]
        with m.If(load):
            m.d.sync += [
                self.ar.valid.eq(taken),
                self.ar.payload.line.eq(self.request.payload.line),
                self.ar.payload.slot.eq(slots.slot),
            ]
        self._collect(m, slots, taken)
        return m

    def _collect(self, m: Module, slots: Slots, taken: Signal) -> None:
        """Store each beat: one memory for each position in a line, with an entry for each slot."""
        beats = self._beats
        beat_bits = (beats - 1).bit_length()
        layout = data.StructLayout({"beat": beat_bits, "error": 1})
        # The beat that each burst waits for, and whether one has failed; neither counts before its first beat.
        m.submodules.progress = progress = Memory(shape=layout, depth=self._slots, init=[])
        before, after = progress.read_port(domain="comb"), progress.write_port()
        fresh = Signal(self._slots)
        first, beat = Signal(), Signal(beat_bits)
        m.d.comb += [
            before.addr.eq(self.r_slot),
            first.eq(fresh.bit_select(self.r_slot, 1)),
            beat.eq(Mux(first, 0, before.data.beat)),
            after.addr.eq(self.r_slot), after.en.eq(self.r_valid),
            after.data.beat.eq(beat + 1),
            after.data.error.eq((before.data.error & ~first) | self.r_error),
            slots.done.eq(self.r_valid & (beat == beats - 1)),
            slots.done_slot.eq(self.r_slot),
            slots.done_error.eq(after.data.error),
        ]
        m.d.sync += fresh.eq(
            (fresh & ~Mux(self.r_valid, one_hot(self.r_slot, self._slots), 0))
            | Mux(taken, one_hot(slots.slot, self._slots), 0)
        )
        parts = []
        for place in range(beats):
            m.submodules[f"place_{place}"] = memory = Memory(shape=self._data_bits, depth=self._slots, init=[])
            write, read = memory.write_port(), memory.read_port(domain="comb")
            m.d.comb += [
                write.addr.eq(self.r_slot), write.data.eq(self.r_data), write.en.eq(self.r_valid & (beat == place)),
                read.addr.eq(slots.number),
            ]
            parts.append(read.data)
        m.d.comb += self.response.payload.data.eq(Cat(parts))
