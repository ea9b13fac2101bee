"""The parts of loads that wait for a line of memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component
from ...lib.onehot import encode, lowest_one
from ..seam import part_layout
from .signatures import fill_signature, lookup_signature, mshrs_signature

__all__ = ["PartTable"]


class PartTable(Component):
    """One entry per waiting part: the data needed when its line comes, and the MSHR that it waits for.

    One part comes and one leaves a cycle. A part that comes in this cycle cannot leave in it. Reset: empty. May never
    happen: ``add`` while ``full``, or ``take`` of an MSHR for which no part waits.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            "lookup": In(lookup_signature(config)),  # the part that begins to wait; only while not ``full``
            "mshrs": In(mshrs_signature(config)),  # the MSHR that it waits for
            "fill": In(fill_signature(config)),  # the MSHR whose part leaves
            #: There is no place for a part. Registered state only.
            "full": Out(1),
            #: Combinational: a part waits for the line in the fill stage.
            "left": Out(1),
            #: The part that has left, from the next cycle on until the next one leaves.
            "answer": Out(part_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, count = self.config, self.config.load_parts
        lookup, fill = self.lookup, self.fill
        valid, free, taken, added = Signal(count), Signal(count), Signal(count), Signal(count)
        mshrs = [Signal(len(fill.filled), name=f"mshr{number}") for number in range(count)]
        next_one = Signal(count)
        if config.lookup_latency == 1:
            of_filled = Cat(mshr == fill.filled for mshr in mshrs) & valid
            of_answered = Cat(mshr == fill.asked for mshr in mshrs) & valid
            leaving = Mux(fill.take_filled, of_filled, of_answered)
        else:
            # While the fill stage has a line it takes no other.
            wanted = Mux(fill.take_filled, fill.filled, fill.asked)
            leaving = Cat(mshr == wanted for mshr in mshrs) & valid
            of_filled = Cat(mshr == fill.filled for mshr in mshrs) & valid
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            added.eq(Mux(lookup.add, free, 0)),
            next_one.eq(lowest_one(leaving)),
            taken.eq(Mux(fill.take, next_one, 0)),
            self.left.eq(of_filled.any()),
        ]
        m.d.sync += valid.eq((valid & ~taken) | added)
        if config.lookup_latency == 1:
            m.d.comb += self.full.eq(valid.all())
        else:
            full = Signal(name="known_full")
            m.d.sync += full.eq(~fill.take & (full | (lookup.add & (valid | free).all())))
            m.d.comb += self.full.eq(full)
        for number, mshr in enumerate(mshrs):
            with m.If(added[number]):
                m.d.sync += mshr.eq(self.mshrs.joined)

        m.submodules.parts = parts = Memory(shape=part_layout(config), depth=count, init=[])
        write, read = parts.write_port(), parts.read_port()
        m.d.comb += [
            write.addr.eq(encode(free)), write.data.eq(lookup.held.part), write.en.eq(lookup.add),
            read.addr.eq(encode(next_one)), read.en.eq(fill.take), self.answer.eq(read.data),
        ]
        return m
