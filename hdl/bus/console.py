"""The characters that a program prints, in a queue that the host reads."""

from __future__ import annotations

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import data, stream
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from ..config import LINE_BYTES, LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from ..lib.component import Component

__all__ = ["CONSOLE_DEPTH", "ConsoleQueue", "console_layout"]

#: Characters that the queue holds unless its user says otherwise: one block RAM of an ECP5.
CONSOLE_DEPTH = 512
_PART_BYTES = 8


def console_layout(config: SmConfig) -> data.StructLayout:
    """A byte that was stored to the console: the ``character``, and which of the console's addresses it went to."""
    return data.StructLayout({
        "character": 8,
        "slot": max(1, (config.memory_map.console_bytes - 1).bit_length()),
    })


class ConsoleQueue(Component):
    """Queues the bytes that writes to the console's line carry, in ascending order of their addresses.

    The SM's request stays where it is while its bytes are queued, one a cycle. ``passes`` holds it back until then: a
    write of n bytes to the console's line in cycle c passes in c+8+n. Every other request passes at once. If the queue
    is full, the byte is lost, and ``lost`` is set until ``clear``; the SM never waits for the host. A byte can be read
    two cycles after it is queued. Reset: empty.

    Parameters
    ----------
    depth : int
        Characters that the queue holds, from 1 to 65535.

    Raises
    ------
    ValueError
        For another depth.
    """

    def __init__(self, config: SmConfig, *, depth: int = CONSOLE_DEPTH) -> None:
        if not 1 <= depth <= 0xFFFF:
            raise ValueError(f"console must be from 1 to 65535 characters, not {depth!r}")
        self._places, self._depth = config.memory_map, depth
        super().__init__({
            "write": In(1),  # the SM offers a write
            "line": In(LINE_NUMBER_BITS),  # with ``write``: its line
            "byte_mask": In(LINE_BYTES),  # with ``write``: its bytes
            "data": In(8 * LINE_BYTES),  # with ``write``: their values
            "taken": In(1),  # the write is accepted behind the queue; only while ``passes``
            "passes": Out(1),  # combinational: the request may go to memory
            "clear": In(1),  # empty the queue, and forget what was lost
            "characters": Out(stream.Signature(console_layout(config))),  # the oldest byte
            "count": Out(range(depth + 1)),  # bytes that wait
            "lost": Out(1),  # a byte found the queue full
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth, layout = self._depth, self.characters.payload.shape()
        m.submodules.fifo = fifo = ResetInserter(self.clear)(SyncFIFOBuffered(width=layout.size, depth=depth))
        low = self._places.console % LINE_BYTES
        slots = ((1 << self._places.console_bytes) - 1) << low
        prints, busy, byte = Signal(), Signal(), Signal(range(_PART_BYTES))
        part, left, entry = Signal(range(LINE_BYTES // _PART_BYTES)), Signal(_PART_BYTES), Signal(layout)
        following, mask = Signal.like(part), Signal(LINE_BYTES)
        m.d.comb += [
            prints.eq(self.write & (self.line == self._places.console >> LINE_OFFSET_BITS)),
            mask.eq(self.byte_mask & slots),
            self.passes.eq(~prints | (busy & part.all() & ~left.any())),
            following.eq(part + busy),
            entry.character.eq(self.data.word_select(part, 8 * _PART_BYTES).word_select(byte, 8)),
            entry.slot.eq(part * _PART_BYTES + byte - low),
            fifo.w_data.eq(entry), fifo.w_en.eq(prints & busy & left.any()),
        ]
        for place in reversed(range(_PART_BYTES)):
            with m.If(left[place]):
                m.d.comb += byte.eq(place)
        with m.If(~prints | (self.passes & self.taken) | self.clear):
            m.d.sync += [busy.eq(0), part.eq(0)]
        with m.Elif(left.any() & busy):
            m.d.sync += left.eq(left & (left - 1))
        with m.Elif(~self.passes):
            m.d.sync += [busy.eq(1), part.eq(following), left.eq(mask.word_select(following, _PART_BYTES))]
        with m.If(fifo.w_en & ~fifo.w_rdy):
            m.d.sync += self.lost.eq(1)
        with m.If(self.clear):
            m.d.sync += self.lost.eq(0)
        m.d.comb += [
            self.characters.valid.eq(fifo.r_rdy), self.characters.payload.eq(fifo.r_data),
            fifo.r_en.eq(self.characters.ready), self.count.eq(fifo.level),
        ]
        return m
