"""The places in the data cache that wait for their lines."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component
from ...lib.onehot import one_hot
from .signatures import fill_signature, lookup_signature, mshrs_signature

__all__ = ["PendingPlaces"]


class PendingPlaces(Component):
    """The cache place of each MSHR's line, if the lookup has assigned one (ordered channels).

    One comes and one leaves a cycle. A line that memory refuses keeps its place: later loads hit it, and their bytes
    mean nothing. Its first load faults, which stops the SM. Reset: none.
    """

    def __init__(self, config: SmConfig) -> None:
        self._count = config.line_requests
        self._place_bits = (config.dcache_bytes // config.line_bytes - 1).bit_length()
        super().__init__({
            #: The place that the line in the lookup would take. From the cache.
            "place": In(self._place_bits),
            #: Combinational: it waits for a line already.
            "taken": Out(1),
            "lookup": In(lookup_signature(config)),  # whether the line takes it
            "mshrs": In(mshrs_signature(config)),  # the MSHR of that line
            "fill": In(fill_signature(config)),  # the MSHR that is done
            #: The place of the line in the fill stage. Combinational.
            "fill_place": Out(self._place_bits),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._count
        waits, begun, over = Signal(count), Signal(count), Signal(count)
        places = [Signal(self._place_bits, name=f"place{number}") for number in range(count)]
        m.d.comb += [
            begun.eq(Mux(self.lookup.place, one_hot(self.mshrs.number, count), 0)),
            over.eq(Mux(self.fill.release, one_hot(self.fill.filled, count), 0)),
            self.taken.eq((Cat(place == self.place for place in places) & waits).any()),
        ]
        m.d.sync += waits.eq((waits & ~over) | begun)
        for number, place in enumerate(places):
            with m.If(begun[number]):
                m.d.sync += place.eq(self.place)
        # A copy for the line that has come: a memory is smaller than a multiplexer of the registers.
        m.submodules.filled_place = memory = Memory(shape=self._place_bits, depth=count, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.mshrs.number), write.data.eq(self.place), write.en.eq(self.lookup.place),
            read.addr.eq(self.fill.filled), self.fill_place.eq(read.data),
        ]
        return m
