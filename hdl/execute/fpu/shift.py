"""Shifts: to the left until the leading one is at the top, and to the right without losing a remainder."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["Normalise", "shift_right_sticky"]


class Normalise(Component):
    """``normalised`` is ``value`` shifted left by ``distance``, so that its highest one is in the top bit.

    Combinational. Of ``value`` 0, ``normalised`` is 0 and ``distance`` all ones.
    """

    def __init__(self, *, width: int):
        self._steps = (width - 1).bit_length()
        super().__init__({"value": In(width), "normalised": Out(width), "distance": Out(self._steps)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value = self.value
        for k in reversed(range(self._steps)):
            step = 1 << k
            shifted = Signal.like(self.value, name=f"shifted{step}")
            empty = value[-step:] == 0
            m.d.comb += [
                self.distance[k].eq(empty),
                shifted.eq(Mux(empty, Cat(Const(0, step), value[:-step]), value)),
            ]
            value = shifted
        m.d.comb += self.normalised.eq(value)
        return m


def shift_right_sticky(value: Value, distance: Value) -> tuple[Value, Value]:
    """``value >> distance``, and whether a one was shifted out.

    ``value`` has fewer bits than ``distance`` can count, so that the whole of it can go. Both are used several times:
    pass signals.
    """
    steps = 1 << len(distance)
    if len(value) >= steps:
        raise ValueError(f"value must have fewer than {steps} bits, not {len(value)}")
    # `distance` ones: a shift to the right keeps the width of what it shifts, one to the left would not.
    lost = (Const((1 << steps - 1) - 1, steps - 1) >> ~distance)[:len(value)]
    return value >> distance, (value & lost).any()
