"""On-chip memory, shared by the SM's port and the host, which loads programs and reads results."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from ..config import LINE_BYTES, LINE_NUMBER_BITS, LINE_OFFSET_BITS, SmConfig
from ..layouts.memory import memory_port_signature
from ..lib.block_memory import block_memory, registered_read
from ..lib.component import Component
from .regions import MEMORY_WORD_BYTES, Regions

__all__ = ["BoardMemory", "console_layout"]

_BEATS = LINE_BYTES // MEMORY_WORD_BYTES
_WORD_BITS = 8 * MEMORY_WORD_BYTES
#: Bits of the address of a word.
_ADDRESS_BITS = 32 - (MEMORY_WORD_BYTES - 1).bit_length()


def console_layout(config: SmConfig) -> data.StructLayout:
    """A byte that was stored to the console: the ``character``, and which of the console's addresses it went to."""
    return data.StructLayout({
        "character": 8,
        "slot": max(1, (config.memory_map.console_bytes - 1).bit_length()),
    })


class _Words(Component):
    """The words of all regions; a read takes one cycle. A word must not be read and written in the same cycle."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        super().__init__({
            "address": In(_ADDRESS_BITS),  # the byte address divided by the size of a word
            "mask": In(MEMORY_WORD_BYTES),  # the bytes that are written in this cycle
            "write": In(_WORD_BITS),  # with ``mask``: the data to write
            "there": Out(1),  # combinational: a region contains the line of the word
            "read": Out(_WORD_BITS),  # the word at the ``address`` of the cycle before
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = self._regions.size // MEMORY_WORD_BYTES
        m.submodules.words = words = block_memory(shape=data.ArrayLayout(8, MEMORY_WORD_BYTES), depth=depth)
        port = words.write_port(granularity=1)
        place = Signal(range(depth))
        for region, first in self._regions.places():
            # A region begins at a multiple of its size in the map and here: low bits agree, high bits are constant.
            low = (region.size // MEMORY_WORD_BYTES).bit_length() - 1
            with m.If(self.address[low:] == region.first // region.size):
                m.d.comb += [
                    place.eq(Cat(self.address[:low], Const(first // region.size, max(1, len(place) - low)))),
                    self.there.eq(1),
                ]
        m.d.comb += [
            port.addr.eq(place), port.data.eq(self.write), port.en.eq(self.mask & self.there.replicate(len(self.mask))),
            self.read.eq(registered_read(m, words, address=place, enable=1, name="word")),
        ]
        return m


class BoardMemory(Component):
    """On-chip memory for lines of 64 bytes, in words of 8; one line at a time.

    A request offered in cycle c is accepted in c if the memory is idle and the host requests nothing. Its response is
    valid from c+10 on. If no region contains its line, or the line lies before the map's first address, the response is
    an error, valid from c+3 on. The next request can be accepted in the cycle after the response is.

    Bytes that the SM stores to the console go to memory and, one by one, to ``console``. Such a write takes 56 more
    cycles, and stalls while ``console`` is not ready.

    The host's access completes in the cycle after it is accepted, and has priority over the SM's. ``host_valid`` and
    its signals must stay constant until ``host_done``. Reset: idle; the memory keeps its contents.
    """

    def __init__(self, config: SmConfig, regions: Regions) -> None:
        self._config = config
        self._regions = regions
        super().__init__({
            "port": In(memory_port_signature(config)),  # the SM's lines
            "busy": Out(1),  # from accepting a request until its response is accepted
            "host_valid": In(1),  # the host accesses a word of 32 bits
            "host_write": In(1),  # with ``host_valid``: it writes
            "host_address": In(30),  # with ``host_valid``: the word's address divided by 4
            "host_data": In(32),  # with ``host_valid``: the data to write
            "host_done": Out(1),  # one cycle: the access is complete
            "host_read": Out(32),  # with ``host_done``: the data read
            "host_error": Out(1),  # with ``host_done``: no memory is there
            #: The bytes that the SM has stored to the console.
            "console": Out(stream.Signature(console_layout(config))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = _Words(self._regions)
        request, response = self.port.request, self.port.response
        line, is_write, error = Signal(LINE_NUMBER_BITS), Signal(), Signal()
        content, mask, beat = Signal(8 * LINE_BYTES), Signal(LINE_BYTES), Signal(range(_BEATS))
        taken, step, was_step, refused = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            request.ready.eq(taken), response.payload.error.eq(error), response.payload.data.eq(content),
            self.host_read.eq(words.read.word_select(self.host_address[0], 32)),
        ]
        m.d.sync += [was_step.eq(step), refused.eq(~words.there)]
        with m.If(taken):
            m.d.sync += [
                Cat(line, is_write, response.payload.tag).eq(
                    Cat(request.payload.line, request.payload.write, request.payload.tag)),
                error.eq(~words.there | (request.payload.line < self._config.memory_map.first // LINE_BYTES)),
                content.eq(request.payload.data),
                mask.eq(request.payload.byte_mask & request.payload.write.replicate(LINE_BYTES)),
            ]
        with m.Elif(Mux(is_write, step, was_step)):
            m.d.sync += content.eq(Cat(content[_WORD_BITS:], words.read))
        with m.If(step):
            m.d.sync += [beat.eq(beat + 1), mask.eq(mask[MEMORY_WORD_BYTES:])]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += taken.eq(request.valid & ~self.host_valid)
                self._for_host(m, words)
                with m.If(self.host_valid):
                    m.next = "HOST"
                with m.Elif(taken):
                    m.next = "BEATS"
            with m.State("HOST"):
                m.d.comb += [self.host_done.eq(1), self.host_error.eq(refused)]
                m.next = "IDLE"
            with m.State("BEATS"):
                m.d.comb += [
                    words.address.eq(Cat(beat, line)), words.write.eq(content),
                    words.mask.eq(mask & step.replicate(MEMORY_WORD_BYTES)), self.busy.eq(1),
                ]
                self._console(m, line, mask, content, beat, step, error)
                with m.If(error | (step & (beat == _BEATS - 1))):
                    m.next = "LAST"
            with m.State("LAST"):  # the last word of a read arrives
                m.d.comb += self.busy.eq(1)
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += [self.busy.eq(1), response.valid.eq(1)]
                with m.If(response.ready):
                    m.next = "IDLE"
        return m

    def _for_host(self, m: Module, words: _Words) -> None:
        """While the memory is idle, look up the host's word, or else the line of the SM's next request."""
        half = self.host_address[0]
        writes = self.host_valid & self.host_write
        first = Cat(Const(0, LINE_OFFSET_BITS - (MEMORY_WORD_BYTES - 1).bit_length()), self.port.request.payload.line)
        m.d.comb += [
            words.address.eq(Mux(self.host_valid, self.host_address[1:], first)),
            words.write.eq(self.host_data.replicate(2)),
            words.mask.eq(Cat((writes & ~half).replicate(4), (writes & half).replicate(4))),
        ]

    def _console(self, m: Module, line: Value, mask: Value, content: Value, beat: Value, step: Signal,
                 error: Value) -> None:
        """Set ``step`` when a beat is done: at once, except that bytes for the console are sent first."""
        console = self._config.memory_map.console
        low = console % LINE_BYTES
        to_console, byte, offset = Signal(), Signal(range(MEMORY_WORD_BYTES)), Signal(LINE_OFFSET_BITS)
        wanted = Signal()
        m.d.comb += [
            to_console.eq((line == console >> LINE_OFFSET_BITS) & mask.any()), offset.eq(Cat(byte, beat)),
            wanted.eq(to_console & mask.bit_select(byte, 1) & (offset >= low)
                      & (offset < low + self._config.memory_map.console_bytes)),
            self.console.valid.eq(wanted & ~error),
            self.console.payload.character.eq(content.word_select(byte, 8)),
            self.console.payload.slot.eq(offset - low),
            step.eq(~error & (~to_console | ((byte == MEMORY_WORD_BYTES - 1) & (~wanted | self.console.ready)))),
        ]
        with m.If(to_console & (~wanted | self.console.ready)):
            m.d.sync += byte.eq(byte + 1)
