"""Shifts: to the left until the leading one is at the top, and to the right without losing a remainder."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["Normalise", "shift_right_sticky"]


class Normalise(Component):
    """``normalised`` is ``value`` shifted left by ``distance``: until its highest one is in the top bit, or by ``room``.

    Combinational. Of ``value`` 0 and enough room, ``distance`` is all ones.
    """

    def __init__(self, *, width: int):
        self._steps = (width - 1).bit_length()
        super().__init__({
            "value": In(width),  # what is shifted
            "room": In(self._steps),  # the longest distance allowed
            "free": In(1),  # there is no longest distance
            "normalised": Out(width),  # the shifted value
            "distance": Out(self._steps),  # by how much
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value, free = self.value, self.free
        for k in reversed(range(self._steps)):
            step = 1 << k
            shifted = Signal.like(self.value, name=f"shifted{step}")
            empty = value[-step:] == 0
            m.d.comb += [
                self.distance[k].eq(empty & (free | self.room[k])),
                shifted.eq(Mux(self.distance[k], Cat(Const(0, step), value[:-step]), value)),
            ]
            # Room that this step leaves is more than all lower steps can take.
            more = Signal(name=f"free{step}")
            m.d.comb += more.eq(free | (self.room[k] & ~empty))
            value, free = shifted, more
        m.d.comb += self.normalised.eq(value)
        return m


def shift_right_sticky(m: Module, value: Value, distance: Value) -> tuple[Value, Value]:
    """``value >> distance``, and whether a one was shifted out.

    Step by step, the longest first: what a step drops is found while the next one is under way.
    """
    dropped = []
    for k in reversed(range(len(distance))):
        step = 1 << k
        shifted = Signal(len(value), name=f"right{step}")
        lost = Signal(name=f"lost{step}")
        m.d.comb += [
            shifted.eq(Mux(distance[k], value >> step, value)),
            lost.eq(distance[k] & value[:step].any()),
        ]
        dropped.append(lost)
        value = shifted
    return value, Cat(dropped).any()
