"""The parts of loads that wait for a line of memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component
from ...lib.onehot import encode, lowest_one
from ..seam import part_layout
from .records import mshr_bits

__all__ = ["PartTable"]


class PartTable(Component):
    """One entry a waiting part: what is needed when its line comes, and which MSHR that is.

    One part comes and one leaves in every cycle. A part that comes in this cycle is not among those that can leave in
    it. Reset: empty. May never happen: ``add`` while ``full``, or ``take`` of an MSHR for which no part waits.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        bits = mshr_bits(config)
        super().__init__({
            #: A part comes to wait for an MSHR; only while not ``full``. From the lookup stage.
            "add": In(1),
            #: With ``add``: which MSHR.
            "add_mshr": In(bits),
            #: With ``add``: the part.
            "part": In(part_layout(config)),
            #: There is no place for a part. Registered state only.
            "full": Out(1),
            #: The MSHR whose line is in the fill stage.
            "filled": In(bits),
            #: Combinational: a part waits for ``filled``.
            "left": Out(1),
            #: The MSHR that memory answers in this cycle.
            "answered": In(bits),
            #: One of the parts that wait for ``answered``, or for ``filled``, leaves. From the fill stage.
            "take": In(1),
            #: With ``take``: one of those that wait for ``filled``.
            "take_filled": In(1),
            #: The part that has left, from the next cycle on until the next ``take``.
            "answer": Out(part_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, count = self.config, self.config.load_parts
        valid, free, taken, added = Signal(count), Signal(count), Signal(count), Signal(count)
        mshrs = [Signal(len(self.filled), name=f"mshr{number}") for number in range(count)]
        of_filled = Cat(mshr == self.filled for mshr in mshrs) & valid
        of_answered = Cat(mshr == self.answered for mshr in mshrs) & valid
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            added.eq(Mux(self.add, free, 0)),
            taken.eq(Mux(self.take, lowest_one(Mux(self.take_filled, of_filled, of_answered)), 0)),
            self.full.eq(valid.all()),
            self.left.eq(of_filled.any()),
        ]
        m.d.sync += valid.eq((valid & ~taken) | added)
        for number, mshr in enumerate(mshrs):
            with m.If(added[number]):
                m.d.sync += mshr.eq(self.add_mshr)

        m.submodules.parts = parts = Memory(shape=part_layout(config), depth=count, init=[])
        fill, drain = parts.write_port(), parts.read_port()
        m.d.comb += [
            fill.addr.eq(encode(free)), fill.data.eq(self.part), fill.en.eq(self.add),
            drain.addr.eq(encode(taken)), drain.en.eq(self.take), self.answer.eq(drain.data),
        ]
        return m
