"""Shifters: left until the leading one is at the top, and right without losing a remainder."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["Normalise", "shift_right_sticky"]

#: Bits that are looked at together.
_BLOCK = 8


class Normalise(Component):
    """Shifts ``value`` left by ``distance`` to ``normalised``: its highest one reaches the top bit if there is room.

    Combinational. If ``value`` is 0 and there is enough room, ``distance`` is all ones.
    """

    def __init__(self, *, width: int):
        self._steps = (width - 1).bit_length()
        super().__init__({
            "value": In(width),  # the value to shift
            "room": In(self._steps),  # the longest distance allowed
            "free": In(1),  # there is no longest distance
            "normalised": Out(width),  # the shifted value
            "distance": Out(self._steps),  # by how much
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value, free = self.value, self.free
        # The blocks of 8 bits that are 0, the highest first: shifted along, so that long steps need not wait for bits.
        top = len(value)
        blocks = Signal(-(-top // _BLOCK))
        m.d.comb += blocks.eq(Cat(value[max(high - _BLOCK, 0):high] == 0 for high in range(top, 0, -_BLOCK)))
        for k in reversed(range(self._steps)):
            step = 1 << k
            shifted = Signal.like(self.value, name=f"shifted{step}")
            empty, more = Signal(name=f"empty{step}"), Signal(name=f"free{step}")
            m.d.comb += [
                empty.eq(blocks[:step // _BLOCK].all() if step >= _BLOCK else value[-step:] == 0),
                self.distance[k].eq(empty & (free | self.room[k])),
                shifted.eq(Mux(self.distance[k], Cat(Const(0, step), value[:-step]), value)),
                # The room left after this step exceeds the total of all lower steps.
                more.eq(free | (self.room[k] & ~empty)),
            ]
            if step > _BLOCK:
                left, blocks = blocks, Signal(len(blocks), name=f"blocks{step}")
                moved = Cat(left[step // _BLOCK:], Const(-1, step // _BLOCK))
                m.d.comb += blocks.eq(Mux(self.distance[k], moved, left))
            value, free = shifted, more
        m.d.comb += self.normalised.eq(value)
        return m


def shift_right_sticky(m: Module, value: Value, distance: Value) -> tuple[Value, Value]:
    """``value >> distance``, and whether a one was shifted out.

    Step by step, the longest first: each step's lost ones are detected during the next step.
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
