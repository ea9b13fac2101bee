"""The lines that loads have requested and memory has not delivered."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.onehot import encode, lowest_one, one_hot
from .lanes import pick
from .records import LINE_BITS

__all__ = ["LoadMisses", "fill_tag_bits"]


def fill_tag_bits(config: SmConfig) -> int:
    """Bits of a miss register's number, at least 1."""
    return max(1, (config.line_requests - 1).bit_length())


class LoadMisses(wiring.Component):
    """Miss registers (MSHR): one for each line request of a load, from ``allocate`` to ``release``.

    ``same`` (combinational): the registers, a mask, that hold ``line``; where ``uncached``, all that hold an uncached
    line. ``same_number``: the number of one of them. With ``allocate`` the register ``number`` takes ``line``; only
    while not ``full``. ``request``: the lines to ask memory for, in the order of allocation, from the next cycle on.
    ``asked_line``: the line of register ``asked``. ``release`` frees ``released``. ``busy``: a register is taken.
    """

    def __init__(self, config: SmConfig) -> None:
        self._count = config.line_requests
        self._bits = fill_tag_bits(config)
        super().__init__({
            "line": In(LINE_BITS), "uncached": In(1), "same": Out(self._count), "same_number": Out(self._bits),
            "full": Out(1), "number": Out(self._bits), "allocate": In(1),
            "request": Out(stream.Signature(data.StructLayout({"number": self._bits, "line": LINE_BITS}))),
            "asked": In(self._bits), "asked_line": Out(LINE_BITS),
            "release": In(1), "released": In(self._bits),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._count
        valid, uncached = Signal(count), Signal(count)
        free, freed = Signal(count), Signal(count)
        lines = [Signal(LINE_BITS, name=f"line{number}") for number in range(count)]
        m.d.comb += [
            free.eq(lowest_one(~valid)),
            freed.eq(Mux(self.release, one_hot(self.released, count), 0)),
            self.full.eq(valid.all()),
            self.number.eq(encode(free)),
            self.same.eq(valid & (
                Cat(lines[number] == self.line for number in range(count)) | (uncached & self.uncached.replicate(count))
            )),
            self.same_number.eq(encode(lowest_one(self.same))),
            self.asked_line.eq(pick(lines, self.asked)),
            self.busy.eq(valid.any()),
        ]
        m.d.sync += valid.eq((valid & ~freed) | Mux(self.allocate, free, 0))
        for number in range(count):
            with m.If(self.allocate & free[number]):
                m.d.sync += [lines[number].eq(self.line), uncached[number].eq(self.uncached)]

        # There is room for every register: what is allocated is always taken.
        m.submodules.unsent = unsent = SyncFIFO(width=self._bits + LINE_BITS, depth=count)
        m.d.comb += [
            unsent.w_data.eq(Cat(self.number, self.line)),
            unsent.w_en.eq(self.allocate),
            self.request.valid.eq(unsent.r_rdy),
            self.request.payload.as_value().eq(unsent.r_data),
            unsent.r_en.eq(self.request.ready),
        ]
        return m
