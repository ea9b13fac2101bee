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
from .records import load_request_layout, mshr_bits

__all__ = ["Mshrs"]


class Mshrs(Component):
    """The miss status holding registers (MSHRs): one for each line request of a load, from its miss to its last part.

    One line may be requested, and one MSHR released, in every cycle. A request leaves in the cycle after ``allocate``
    at the earliest, in the order of allocation. Reset: all free.
    """

    def __init__(self, config: SmConfig) -> None:
        self._count = config.line_requests
        self._bits = mshr_bits(config)
        super().__init__({
            #: The line that is looked up. From the lookup stage.
            "line": In(LINE_NUMBER_BITS),
            #: It is uncached.
            "uncached": In(1),
            #: Combinational, one bit an MSHR: those that hold ``line``; if ``uncached``, all with an uncached line.
            "same": Out(self._count),
            #: The number of one of them; 0 if there is none.
            "same_number": Out(self._bits),
            #: All are taken. Registered state only.
            "full": Out(1),
            #: The lowest free one.
            "number": Out(self._bits),
            #: It takes ``line``; only while not ``full``. From the lookup stage.
            "allocate": In(1),
            #: The lines to ask memory for.
            "request": Out(stream.Signature(load_request_layout(config))),
            #: The MSHR that memory answers. From the fill stage.
            "asked": In(self._bits),
            #: The line that it holds. Combinational.
            "asked_line": Out(LINE_NUMBER_BITS),
            #: An MSHR is free from the next cycle on. From the fill stage.
            "release": In(1),
            #: With ``release``: its number.
            "released": In(self._bits),
            #: One is taken.
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._count
        valid, uncached = Signal(count), Signal(count)
        free, freed = Signal(count), Signal(count)
        lines = [Signal(LINE_NUMBER_BITS, name=f"line{number}") for number in range(count)]
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            freed.eq(Mux(self.release, one_hot(self.released, count), 0)),
            self.full.eq(valid.all()),
            self.number.eq(encode(free)),
            self.same.eq(valid & (
                Cat(lines[number] == self.line for number in range(count)) | (uncached & self.uncached.replicate(count))
            )),
            self.same_number.eq(encode(lowest_one(self.same))),
            self.busy.eq(valid.any()),
        ]
        # Once more, for memory's answers: a memory is less than a multiplexer of the registers.
        m.submodules.asked = numbers = Memory(shape=LINE_NUMBER_BITS, depth=count, init=[])
        write, read = numbers.write_port(), numbers.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.number), write.data.eq(self.line), write.en.eq(self.allocate),
            read.addr.eq(self.asked), self.asked_line.eq(read.data),
        ]
        m.d.sync += valid.eq((valid & ~freed) | Mux(self.allocate, free, 0))
        for number in range(count):
            with m.If(self.allocate & free[number]):
                m.d.sync += [lines[number].eq(self.line), uncached[number].eq(self.uncached)]

        # There is room for every MSHR: what is allocated is always taken.
        m.submodules.unsent = unsent = SyncFIFO(width=self._bits + LINE_NUMBER_BITS, depth=count)
        m.d.comb += [
            unsent.w_data.eq(Cat(self.number, self.line)),
            unsent.w_en.eq(self.allocate),
            self.request.valid.eq(unsent.r_rdy),
            self.request.payload.as_value().eq(unsent.r_data),
            unsent.r_en.eq(self.request.ready),
        ]
        return m
