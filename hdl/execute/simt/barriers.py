"""Barriers between the warps of the SM."""

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...lib.component import Component
from ...lib.onehot import or_all

__all__ = ["Barriers"]


class Barriers(Component):
    """``config.barriers`` independent barriers (isa.md, bar); an id is taken modulo their number.

    One arrival a cycle. If the warps that have arrived and this one make ``count``, all are released and the barrier is
    empty again; otherwise the warp waits. Reset: no warp waits.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "arrive": In(1),  # a warp arrives at a barrier in this cycle
            "warp": In(config.warp_bits),  # which warp; with `arrive`, as the next two
            "id": In(32),  # which barrier, modulo their number
            "count": In(32),  # how many warps, this one included, are to arrive before they continue
            #: The warps whose barrier is complete, this one among them; in the cycle of the last ``arrive``.
            "released": Out(config.warps),
            "waiting": Out(config.warps),  # warps that have arrived and not continued; from the cycle after `arrive`
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        number_bits = max(1, (config.barriers - 1).bit_length())
        arrived = [Signal(config.warps, name=f"arrived_{i}") for i in range(config.barriers)]
        number = self.id[:number_bits] if config.barriers > 1 else Const(0, 1)
        there = Signal(config.warps)
        total = Signal(range(config.warps + 2))
        m.d.comb += [
            there.eq(Mux(self.arrive, Array(arrived)[number] | (Const(1, config.warps) << self.warp), 0)),
            total.eq(sum((there[w] for w in range(config.warps)), Const(0, 1))),
            self.released.eq(Mux(total == self.count, there, 0)),
            self.waiting.eq(or_all(arrived)),
        ]
        complete = self.released.any()
        for i, waiting in enumerate(arrived):
            with m.If(self.arrive & (number == i)):
                m.d.sync += waiting.eq(Mux(complete, 0, there))
        return m
