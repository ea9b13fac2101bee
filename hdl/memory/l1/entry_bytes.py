"""The bytes of the write buffer's entries."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.block_memory import block_memory, registered_read
from ...lib.component import Component
from .records import entry_bits

__all__ = ["EntryBytes"]


class EntryBytes(Component):
    """The bytes of each entry, and which of them stores have set; read by number for three purposes.

    One store enters in every cycle; a read in the same cycle does not see it. What has been read is there from the next
    cycle until the next read for the same purpose.

    With a ``lookup_latency`` of 1 each purpose has a copy in block RAMs, and may read in every cycle. With 2 the bytes
    are in distributed memory, with one read port: three copies would need 48 blocks, most of them empty, and their
    wires are what makes a load/store unit slow to route (docs/fpga.md). May then never happen: ``send`` with ``peek``,
    or ``forward`` with ``peek`` or ``waits``. Reset: ``forwarded`` is 0.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        number, mask, line = entry_bits(config), config.line_bytes, 8 * config.line_bytes
        super().__init__({
            "write": In(1),  # a store enters
            "place": In(number),  # with ``write``: the number of its entry
            "begins": In(1),  # with ``write``: it is the first one there
            "mask": In(mask),  # with ``write``: the bytes that it sets
            "data": In(line),  # with ``write``: their values
            #: The entry to be sent is read in this cycle, or a later one.
            "waits": In(1),
            #: The entry to be sent is read.
            "send": In(1),
            #: With ``waits`` or ``send``: its number.
            "sent_place": In(number),
            #: The bytes that it has set.
            "sent_mask": Out(mask),
            "sent_data": Out(line),  # the values of these bytes
            #: The entry whose bytes go over a line from memory is read.
            "peek": In(1),
            #: With ``peek``: there is one.
            "peeks": In(1),
            #: With ``peek``: its number.
            "peeked_place": In(number),
            #: The bytes that it has set; 0 if there was none.
            "peeked_mask": Out(mask),
            "peeked_data": Out(line),  # the values of these bytes
            #: The entry that answers a load is read.
            "forward": In(1),
            #: Its number; of ``now_mask`` in every cycle.
            "forwarded_place": In(number),
            #: ``forwarded`` is 0 from the next cycle on.
            "forget": In(1),
            #: Its bytes. The values of those that it has not set mean nothing.
            "forwarded": Out(line),
            #: Combinational: the bytes that the entry ``forwarded_place`` has set.
            "now_mask": Out(mask),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Whether an entry covers a load is needed in the cycle in which the entry is found.
        m.submodules.masks = masks = Memory(shape=self.config.line_bytes, depth=self.config.store_buffer, init=[])
        write, now = masks.write_port(), masks.read_port(domain="comb")
        m.d.comb += [
            now.addr.eq(self.forwarded_place), self.now_mask.eq(now.data),
            write.addr.eq(self.place), write.en.eq(self.write),
            write.data.eq(self.mask | Mux(self.begins, 0, now.data)),
        ]
        if self.config.lookup_latency > 1:
            self._one_port(m, masks)
        else:
            self._block_rams(m)
        return m

    def _one_port(self, m: Module, masks: Memory) -> None:
        """The reads share a port, each with registers of its own behind it."""
        config = self.config
        m.submodules.data = entries = Memory(
            shape=data.ArrayLayout(8, config.line_bytes), depth=config.store_buffer, init=[])
        write, place = entries.write_port(granularity=1), Signal.like(self.place, name="read_place")
        values, chosen = entries.read_port(domain="comb"), masks.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.place), write.en.eq(Mux(self.write, self.mask, 0)),
            write.data.as_value().eq(self.data),
            place.eq(Mux(self.peek, self.peeked_place, Mux(self.waits, self.sent_place, self.forwarded_place))),
            values.addr.eq(place), chosen.addr.eq(place),
        ]
        with m.If(self.send):
            m.d.sync += [self.sent_data.eq(values.data), self.sent_mask.eq(chosen.data)]
        with m.If(self.peek):
            m.d.sync += [self.peeked_data.eq(values.data), self.peeked_mask.eq(Mux(self.peeks, chosen.data, 0))]
        with m.If(self.forget):
            m.d.sync += self.forwarded.eq(0)
        with m.Elif(self.forward):
            m.d.sync += self.forwarded.eq(values.data)

    def _block_rams(self, m: Module) -> None:
        """Each read has a port of its own. A byte and its bit of the mask lie together in a block."""
        places = range(self.config.line_bytes)
        byte = data.StructLayout({"data": 8, "set": 1})
        m.submodules.data = entries = block_memory(
            shape=data.ArrayLayout(byte, self.config.line_bytes), depth=self.config.store_buffer)
        write, any_peeked = entries.write_port(granularity=1), Signal()
        m.d.comb += [
            write.addr.eq(self.place),
            # The first store clears the bits of the bytes that it does not set.
            write.en.eq(Mux(self.write, self.mask | self.begins.replicate(len(places)), 0)),
            *(write.data[place].eq(Cat(self.data.word_select(place, 8), self.mask[place])) for place in places),
        ]

        def read(name: str, address: Value, enable: Value, clear: Value | None = None) -> tuple[Value, Value]:
            word = data.View(entries.shape, registered_read(
                m, entries, address=address, enable=enable, clear=clear, name=name))
            return Cat(word[place].data for place in places), Cat(word[place].set for place in places)

        sent = read("sent_bytes", self.sent_place, self.send)
        peeked = read("peeked_bytes", self.peeked_place, self.peek)
        forwarded = read("forwarded_bytes", self.forwarded_place, self.forward, self.forget)
        with m.If(self.peek):
            m.d.sync += any_peeked.eq(self.peeks)
        m.d.comb += [
            self.sent_data.eq(sent[0]), self.sent_mask.eq(sent[1]),
            self.peeked_data.eq(peeked[0]), self.peeked_mask.eq(Mux(any_peeked, peeked[1], Const(0, len(places)))),
            self.forwarded.eq(forwarded[0]),
        ]
