"""Reads the list of accesses from memory, ahead of its use."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, LINE_OFFSET_BITS, LIST_SLOT_BITS, SmConfig
from ...layouts.memory import memory_port_signature
from ...lib.component import Component

__all__ = ["AHEAD", "BURST", "ENTRY_BYTES", "ListReader", "entry_layout"]

#: Lines that are read ahead, and the number requested one after the other once there is space for that many:
#: memory of rows has to close one for each burst, not for each line. Powers of two.
AHEAD, BURST = 1 << LIST_SLOT_BITS, 8
#: Bytes of an entry.
ENTRY_BYTES = 8
_WARP_BITS, _COUNT_BITS = 6, 6


def entry_layout() -> data.StructLayout:
    """One load or store of the list (memory.md, "The list"): ``lines`` accesses at ``pc`` of ``warp``; 0: the end."""
    return data.StructLayout({
        "store": 1, "pc": data.StructLayout({"ignored": 1, "word": 30}), "warp": _WARP_BITS, "lines": _COUNT_BITS,
    })


class ListReader(Component):
    """Hands out a list's entries in order, and reads up to ``ahead`` lines of it ahead, in bursts of ``burst``.

    The first line is requested in the cycle after ``start``, then one per cycle. A burst begins when there is space for
    all its lines. Requests stop once a line has arrived that contains an end entry, or that memory answered with an
    error. An entry of a line answered in cycle c is available from c+1 on. Lines past the end that were requested by
    then are not used. Reset: no list.

    Raises
    ------
    ValueError
        Unless ``ahead`` and ``burst`` are powers of two, with ``burst`` the smaller one.
    """

    def __init__(self, config: SmConfig, *, ahead: int = AHEAD, burst: int = BURST) -> None:
        self.config = config
        self.ahead, self.burst = ahead, burst
        if ahead & (ahead - 1) or burst & (burst - 1) or not 1 <= burst < ahead:
            raise ValueError(f"ahead and burst must be powers of two, burst the smaller, not {ahead} and {burst}")
        super().__init__({
            #: A list begins, at ``address``; only while not ``busy``.
            "start": In(1),
            #: With ``start``: the address of the list, a multiple of the line size; lower bits are ignored.
            "address": In(32),
            #: Forget the list; only while not ``busy``.
            "stop": In(1),
            #: From the next cycle on, no request is made except one already offered. Stays so until the next list.
            "quit": In(1),
            #: An entry is available. Registered state only.
            "valid": Out(1),
            #: The next entry.
            "entry": Out(entry_layout()),
            #: With ``valid``: the entry is the end. Registered, as are the entry and ``error``.
            "end": Out(1),
            #: With ``valid``: memory answered the entry's line with an error.
            "error": Out(1),
            #: The address of the entry.
            "place": Out(32),
            #: Advance to the next entry; only while ``valid`` and not ``end``.
            "next": In(1),
            #: Lines of the list; reads only. A tag is one of ``ahead`` slots.
            "mem": Out(memory_port_signature(config, tag_bits=config.l1_tag_bits)),
            #: A request is offered or in flight.
            "busy": Out(1),
        })
        self._slot_bits = (ahead - 1).bit_length()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, response = self.mem.request, self.mem.response
        words = self.config.line_bytes // ENTRY_BYTES
        active = Signal()
        line, current = (Signal(LINE_NUMBER_BITS, name=name) for name in ("line", "current"))
        ahead = self.ahead
        asked, come, bad = (Signal(ahead, name=name) for name in ("asked", "come", "bad"))
        tail, head = (Signal(self._slot_bits, name=name) for name in ("tail", "head"))
        index = Signal(range(words))
        stored = data.ArrayLayout(entry_layout(), words)
        m.submodules.lines = lines = Memory(shape=stored, depth=ahead, init=[])
        write, read = lines.write_port(), lines.read_port(domain="comb")
        places = response.payload.data
        m.d.comb += [
            write.addr.eq(response.payload.tag), write.en.eq(response.valid),
            *(write.data[word].eq(self._entry(places.word_select(word, 8 * ENTRY_BYTES))) for word in range(words)),
            response.ready.eq(1),
            self.place.eq(Cat(index << (ENTRY_BYTES - 1).bit_length(), current)),
            # If the last slot of the burst is free, all of them are, or were when it began.
            request.valid.eq(active & ~asked.bit_select(tail | self.burst - 1, 1)),
            request.payload.line.eq(line), request.payload.tag.eq(tail),
            self.busy.eq(request.valid | (asked & ~come).any()),
        ]
        last_word = index == words - 1
        done = self.next & last_word
        begun = Mux(request.valid & request.ready, 1 << tail, 0)
        ended = Mux(done, 1 << head, 0)
        arrived = Mux(response.valid, 1 << response.payload.tag[: self._slot_bits], 0)
        m.d.sync += [
            asked.eq((asked & ~ended) | begun),
            come.eq((come & ~ended) | arrived),
            bad.eq((bad & ~ended) | Mux(response.payload.error, arrived, 0)),
        ]
        # The entry is read while the one before it is the next; that of a line without a used entry may arrive now.
        following = Signal.like(head)
        m.d.comb += [following.eq(head + last_word), read.addr.eq(following)]
        after = (following, read.data[(index + 1)[: len(index)]] if words > 1 else read.data[0])
        self._next_entry(m, after, (head, self.entry), come=come, bad=bad, arrived=arrived, first=write.data[0],
                         refused=response.payload.error)
        with m.If(request.valid & request.ready):
            m.d.sync += [line.eq(line + 1), tail.eq(tail + 1)]
        with m.If(self.next):
            m.d.sync += index.eq(index + 1)
        with m.If(done):
            m.d.sync += [head.eq(head + 1), current.eq(current + 1)]
        over, last = (Signal(name=name) for name in ("over", "last"))
        m.d.comb += last.eq(response.valid & (
            response.payload.error | Cat(~write.data[word].as_value().any() for word in range(words)).any()))
        m.d.sync += over.eq(over | last)
        # A request that is offered and not taken stays offered.
        with m.If((self.quit | over | last) & ~(request.valid & ~request.ready)):
            m.d.sync += active.eq(0)
        with m.If(self.start | self.stop):
            m.d.sync += [asked.eq(0), come.eq(0), bad.eq(0), tail.eq(0), head.eq(0), index.eq(0), over.eq(0)]
            m.d.sync += [active.eq(self.start), line.eq(self._line), current.eq(self._line), self.valid.eq(0)]
        return m

    def _next_entry(
        self, m: Module, after: tuple[Value, data.View], now: tuple[Value, data.View], *, come: Signal, bad: Signal,
        arrived: Value, first: data.View, refused: Value,
    ) -> None:
        """Load the registers of the next entry: from ``after`` with ``next``, else they keep ``now``.

        Both are a slot and its entry. A line that arrives gives its ``first`` entry.
        """
        for advance, (slot, entry) in ((1, after), (0, now)):
            arrives = Signal(name=f"arrives{advance}")
            loaded = Signal(entry_layout(), name=f"loaded{advance}")
            m.d.comb += [
                arrives.eq(arrived.bit_select(slot, 1)),
                loaded.eq(Mux(arrives, first.as_value(), entry.as_value())),
            ]
            with m.If(self.next == advance):
                m.d.sync += [
                    self.valid.eq(come.bit_select(slot, 1) | arrives),
                    self.error.eq(Mux(arrives, refused, bad.bit_select(slot, 1))),
                    self.entry.eq(loaded),
                    self.end.eq(~loaded.as_value().any()),
                ]

    @property
    def _line(self) -> Value:
        return self.address[LINE_OFFSET_BITS:]

    @staticmethod
    def _entry(words: Value) -> Value:
        """The two words of an entry without the unused bits."""
        return words[: 32 + _WARP_BITS + _COUNT_BITS]
