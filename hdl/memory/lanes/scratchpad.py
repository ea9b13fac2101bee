"""Local memory: one bank per lane."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from ...lib.lane_vectors import lanes_with, pick, transpose

__all__ = ["Scratchpad"]


class Scratchpad(Component):
    """``words`` 32-bit words in ``threads`` banks; the bank of a word is its number modulo ``threads``.

    In each bank the lowest lane that wants it wins; a load serves all lanes that want the winner's word (broadcast), a
    store only the winner. An access thus takes as many cycles as the most crowded bank has different words (loads) or
    lanes (stores). A read takes one cycle; one access a cycle. The contents survive reset; they are 0 at power-up. May
    never happen: ``read`` and ``write`` in one cycle.
    """

    def __init__(self, *, threads: int, words: int) -> None:
        if words % threads:
            raise ValueError(f"words must be a multiple of {threads}, not {words!r}")
        self.threads = threads
        self.rows = words // threads
        self.bank_bits = (threads - 1).bit_length()
        lanes = data.ArrayLayout(32, threads)
        super().__init__({
            #: The lanes that want an access, from the coalescer.
            "lanes": In(threads),
            #: It is a store: of the lanes that want one bank, one is served.
            "store": In(1),
            #: The number of the word that each lane wants.
            "word": In(data.ArrayLayout((words - 1).bit_length(), threads)),
            #: The value that each lane stores.
            "data": In(lanes),
            #: In which bytes of its word.
            "enable": In(data.ArrayLayout(4, threads)),
            #: The lanes ``served`` load in this cycle.
            "read": In(1),
            #: The lanes ``served`` store in this cycle.
            "write": In(1),
            #: Combinational: the lanes that are served now, whether or not the access is made.
            "served": Out(threads),
            #: Each bank's word, from the cycle after a ``read`` of it until its next read. A read in the cycle after a
            #: write sees it.
            "bank_data": Out(lanes),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = [self.word[lane] for lane in range(self.threads)]
        row_bits = transpose(m, [word[self.bank_bits :] for word in words], "row")
        enables = transpose(m, [self.enable[lane] for lane in range(self.threads)], "enable")
        users = lanes_with(m, self.lanes, [word[: self.bank_bits] for word in words], range(self.threads), "bank")
        served = []
        for bank, wanting in enumerate(users):
            winner = Signal(self.threads, name=f"winner{bank}")
            row = Signal(len(row_bits), name=f"row{bank}")
            m.d.comb += [
                winner.eq(wanting & (~wanting + 1)),
                row.eq(Cat((winner & vector).any() for vector in row_bits)),
            ]
            differs = [vector ^ bit.replicate(self.threads) for vector, bit in zip(row_bits, row, strict=True)]
            same = reduce(and_, (~vector for vector in differs), wanting)
            served.append(Mux(self.store, winner, same))
            enable = Cat((winner & vector).any() for vector in enables)
            self._bank(m, bank, row=row, winner=winner, enable=enable)
        m.d.comb += self.served.eq(reduce(or_, served))
        return m

    def _bank(self, m: Module, bank: int, *, row: Value, winner: Signal, enable: Value) -> None:
        """The memory of one bank, accessed by the lane in ``winner`` (one-hot, or 0: no access)."""
        memory = Memory(shape=data.ArrayLayout(8, 4), depth=self.rows, init=[])
        m.submodules[f"bank{bank}"] = memory
        reader, writer = memory.read_port(), memory.write_port(granularity=1)
        used, lane = Signal(name=f"used{bank}"), Signal(max(1, self.bank_bits), name=f"lane{bank}")
        # The winner's number: bit k is set iff it is one of the lanes that have bit k set.
        lanes_with_bit = [
            sum(1 << number for number in range(self.threads) if number >> bit & 1) for bit in range(self.bank_bits)
        ]
        m.d.comb += [
            used.eq(winner.any()),
            lane.eq(Cat((winner & mask).any() for mask in lanes_with_bit)),
            reader.addr.eq(row),
            reader.en.eq(self.read & used),
            self.bank_data[bank].eq(reader.data.as_value()),
            writer.addr.eq(row),
            writer.en.eq(Mux(self.write & used, enable, 0)),
            writer.data.as_value().eq(
                Mux(self.write & used, pick([self.data[lane] for lane in range(self.threads)], lane), 0)
            ),
        ]
