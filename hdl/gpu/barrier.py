"""Barriers between SMs."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..layouts.barrier import arrival_signature
from ..lib.component import Component
from ..lib.onehot import or_all
from .config import GpuConfig

__all__ = ["GpuBarrier"]


class GpuBarrier(Component):
    """Releases the SMs that have arrived at a barrier when as many are there as each of them has asked for.

    The release comes in the cycle after the last arrival. If the SMs at a barrier ask for different numbers, it is
    never complete. Reset: nothing is released.
    """

    def __init__(self, config: GpuConfig) -> None:
        self._config = config
        super().__init__({
            #: The SMs' arrivals, by number.
            "sms": Out(wiring.Signature({
                #: That of one SM.
                f"sm_{i}": In(arrival_signature(config.sm)) for i in range(config.sms)
            })),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = self._config.sms
        arrivals = [getattr(self.sms, f"sm_{i}") for i in range(count)]
        complete = Signal(count)
        for i, mine in enumerate(arrivals):
            # An SM that is released in this cycle has left.
            there = [each.arrived & ~each.release & (each.id == mine.id) for each in arrivals]
            others_want = or_all(here & (each.count != mine.count) for here, each in zip(there, arrivals, strict=True))
            number = sum(there, Const(0, 1))
            m.d.comb += complete[i].eq(there[i] & ~others_want & (number == mine.count))
            m.d.sync += mine.release.eq(complete[i])
        return m
