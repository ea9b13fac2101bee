"""The lines that loads have requested and memory has not delivered."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, SmConfig
from ...lib.component import Component
from ...lib.onehot import encode, lowest_one, one_hot
from .match import entries_with_line
from .records import load_request_layout, mshr_bits
from .signatures import fill_signature, lookup_signature, mshrs_signature

__all__ = ["Mshrs"]


class Mshrs(Component):
    """The miss status holding registers (MSHRs): one for each line request of a load, from its miss to its last part.

    One line may be requested, and one MSHR released, in every cycle. A request leaves in the cycle after ``allocate``
    at the earliest, in the order of allocation. Reset: all free.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self._count = config.line_requests
        self._bits = mshr_bits(config)
        super().__init__({
            "lookup": In(lookup_signature(config)),  # the line that is looked up; allocated only while not ``full``
            "fill": In(fill_signature(config)),  # the MSHR that memory answers, and the one that is done
            "out": Out(mshrs_signature(config)),  # of both lines
            #: The lines to ask memory for.
            "request": Out(stream.Signature(load_request_layout(config))),
            #: One is taken.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, lookup, fill, out = self._count, self.lookup, self.fill, self.out
        line = lookup.held.part.line
        valid, uncached = Signal(count), Signal(count)
        free, freed, allocated = Signal(count), Signal(count), Signal(count)
        lines = [Signal(LINE_NUMBER_BITS, name=f"line{number}") for number in range(count)]
        matches = entries_with_line(
            m, self._config, lookup, lines=lines, uncached=uncached, valid=valid, free=free,
            makes=lookup.allocate, ending=one_hot(fill.filled, count), ends=fill.release)
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            freed.eq(Mux(fill.release, one_hot(fill.filled, count), 0)),
            out.full.eq(valid.all()),
            out.number.eq(encode(free)),
            allocated.eq(Mux(lookup.allocate, free, 0)),
            out.same.eq(matches.same),
            out.same_number.eq(encode(lowest_one(out.same))),
            out.requested.eq(matches.some),
            self.busy.eq(valid.any()),
        ]
        with m.If(lookup.allocate):
            m.d.comb += out.joined.eq(out.number)
        with m.Else():
            m.d.comb += out.joined.eq(out.same_number)
        # A copy for memory's answers: a memory is smaller than a multiplexer of the registers.
        asked, known = [out.asked_line], [line]
        if self._config.lookup_latency > 1:
            asked += [out.asked_set, out.asked_uncached]
            known += [lookup.held.set, lookup.uncached]
        m.submodules.asked = numbers = Memory(shape=len(Cat(asked)), depth=count, init=[])
        write, read = numbers.write_port(), numbers.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(out.number), write.data.eq(Cat(known)), write.en.eq(lookup.allocate),
            read.addr.eq(fill.asked), Cat(asked).eq(read.data),
        ]
        m.d.sync += valid.eq((valid & ~freed) | allocated)
        for number in range(count):
            with m.If(lookup.allocate & free[number]):
                m.d.sync += [lines[number].eq(line), uncached[number].eq(lookup.uncached)]

        # There is room for every MSHR: an allocated request is always taken.
        m.submodules.unsent = unsent = SyncFIFO(width=self._bits + LINE_NUMBER_BITS, depth=count)
        m.d.comb += [
            unsent.w_data.eq(Cat(out.number, line)),
            unsent.w_en.eq(lookup.allocate),
            self.request.valid.eq(unsent.r_rdy),
            self.request.payload.as_value().eq(unsent.r_data),
            unsent.r_en.eq(self.request.ready),
        ]
        return m
