"""Line writes over AXI4: one burst each, complete when the slave acknowledges it."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS
from ..lib.component import Component
from .slots import Slots, slot_bits

__all__ = ["AxiWrites"]


class AxiWrites(Component):
    """One burst of a whole line for each request; answers come in the order in which the slave completes them.

    A request accepted in cycle c is offered at ``aw`` from c+1 on, and so is its first beat at ``w``. Neither channel
    waits for the other. The next request is accepted when both channels have finished, at the earliest in the cycle of
    the last beat. The slave's responses are always accepted. A response is valid in the next cycle, or after the
    responses that wait ahead of it. Reset: idle.
    """

    def __init__(self, *, line_bytes: int, data_bits: int, tag_bits: int, slots: int) -> None:
        self._line_bytes, self._data_bits, self._tag_bits, self._slots = line_bytes, data_bits, tag_bits, slots
        bits = slot_bits(slots)
        super().__init__({
            #: Lines to write.
            "request": In(stream.Signature(data.StructLayout({
                "line": LINE_NUMBER_BITS, "tag": tag_bits, "byte_mask": line_bytes, "data": 8 * line_bytes,
            }))),
            #: The address of each burst; the slot is its id.
            "aw": Out(stream.Signature(data.StructLayout({"line": LINE_NUMBER_BITS, "slot": bits}))),
            #: The beats of the bursts.
            "w": Out(stream.Signature(data.StructLayout({
                "data": data_bits, "strobe": data_bits // 8, "last": 1,
            }))),
            "b_valid": In(1),  # a burst is complete; always accepted
            "b_slot": In(bits),  # with ``b_valid``: its slot
            "b_error": In(1),  # with ``b_valid``: the burst failed
            #: The result of each request; with ``error``, the line was not written.
            "response": Out(stream.Signature(data.StructLayout({"tag": tag_bits, "error": 1}))),
            "busy": Out(1),  # a response has not been accepted yet
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beats = 8 * self._line_bytes // self._data_bits
        m.submodules.slots = slots = Slots(count=self._slots, tag_bits=self._tag_bits)
        request, aw, w = self.request, self.aw, self.w
        # The remaining bytes, those of the next beat lowest, and the beats after the next one.
        left, mask = Signal(8 * self._line_bytes, name="left"), Signal(self._line_bytes, name="mask")
        more = Signal(range(beats))
        taken, moves = Signal(), Signal()
        m.d.comb += [
            moves.eq(w.valid & w.ready),
            request.ready.eq(slots.available & (~aw.valid | aw.ready) & (~w.valid | (w.ready & w.payload.last))),
            taken.eq(request.valid & request.ready),
            slots.take.eq(taken), slots.tag.eq(request.payload.tag),
            slots.done.eq(self.b_valid), slots.done_slot.eq(self.b_slot), slots.done_error.eq(self.b_error),
            w.payload.data.eq(left[: self._data_bits]),
            w.payload.strobe.eq(mask[: self._data_bits // 8]),
            w.payload.last.eq(more == 0),
            self.response.valid.eq(slots.valid), slots.ready.eq(self.response.ready),
            self.response.payload.tag.eq(slots.answer_tag),
            self.response.payload.error.eq(slots.error),
            self.busy.eq(slots.busy),
        ]
        with m.If(taken):
            m.d.sync += [
                aw.valid.eq(1), aw.payload.line.eq(request.payload.line), aw.payload.slot.eq(slots.slot),
                w.valid.eq(1), more.eq(beats - 1), left.eq(request.payload.data), mask.eq(request.payload.byte_mask),
            ]
        with m.Else():
            with m.If(aw.ready):
                m.d.sync += aw.valid.eq(0)
            with m.If(moves):
                m.d.sync += [
                    w.valid.eq(~w.payload.last), more.eq(more - 1),
                    left.eq(left >> self._data_bits), mask.eq(mask >> (self._data_bits // 8)),
                ]
        return m
