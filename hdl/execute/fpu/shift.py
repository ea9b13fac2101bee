"""Shifters: left until the leading one is at the top, and right without losing a remainder."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["Normalise", "NormaliseBits", "NormaliseBlocks", "shift_right_sticky"]

#: Bits that are looked at together. The first half of a normalisation shifts by multiples of this.
_BLOCK = 8


class NormaliseBlocks(Component):
    """The first half of :class:`Normalise`: shifts by whole blocks of 8 bits. Combinational."""

    def __init__(self, *, width: int):
        steps = (width - 1).bit_length()
        super().__init__({
            "value": In(width),  # the value to shift
            "room": In(steps),  # the longest distance allowed for both halves together
            "free": In(1),  # there is no longest distance
            "shifted": Out(width),  # the shifted value
            "blocks": Out(max(steps - (_BLOCK - 1).bit_length(), 0)),  # by how many blocks
            "more": Out(1),  # the room left exceeds any distance of the second half
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value, free = self.value, self.free
        # The blocks that are 0, the highest first: shifted along, so that long steps need not wait for bits.
        top = len(value)
        zeros = Signal(-(-top // _BLOCK))
        m.d.comb += zeros.eq(Cat(value[max(high - _BLOCK, 0):high] == 0 for high in range(top, 0, -_BLOCK)))
        room = self.room[len(self.room) - len(self.blocks):]
        for k in reversed(range(len(self.blocks))):
            count = 1 << k
            m.d.comb += self.blocks[k].eq(zeros[:count].all() & (free | room[k]))
            value, free = _step(m, value, free, zeros[:count].all(), room[k], count * _BLOCK)
            if k:
                left, zeros = zeros, Signal(len(zeros), name=f"zeros{count}")
                m.d.comb += zeros.eq(Mux(self.blocks[k], Cat(left[count:], Const(-1, count)), left))
        m.d.comb += [self.shifted.eq(value), self.more.eq(free)]
        return m


class NormaliseBits(Component):
    """The second half of :class:`Normalise`: shifts by less than a block of 8 bits. Combinational."""

    def __init__(self, *, width: int):
        steps = min((width - 1).bit_length(), (_BLOCK - 1).bit_length())
        super().__init__({
            "value": In(width),  # as :class:`NormaliseBlocks` has shifted it
            "room": In(steps),  # the lowest bits of the longest distance
            "free": In(1),  # there is no longest distance, or `more` room is left
            "normalised": Out(width),  # the value, shifted by both halves
            "distance": Out(steps),  # by how much the second half has shifted
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value, free = self.value, self.free
        for k in reversed(range(len(self.distance))):
            step = 1 << k
            empty = Signal(name=f"empty{step}")
            m.d.comb += [empty.eq(value[-step:] == 0), self.distance[k].eq(empty & (free | self.room[k]))]
            value, free = _step(m, value, free, empty, self.room[k], step)
        m.d.comb += self.normalised.eq(value)
        return m


def _step(m: Module, value: Value, free: Value, empty: Value, room: Value, step: int) -> tuple[Signal, Signal]:
    """Shift ``value`` by ``step`` if it is ``empty`` there and has ``room``; whether that leaves more than is needed.

    The room left after a step not taken exceeds the total of all lower steps.
    """
    shifted, more = Signal(len(value), name=f"shifted{step}"), Signal(name=f"free{step}")
    m.d.comb += [
        shifted.eq(Mux(empty & (free | room), Cat(Const(0, step), value[:-step]), value)),
        more.eq(free | (room & ~empty)),
    ]
    return shifted, more


class Normalise(Component):
    """Shifts ``value`` left by ``distance`` to ``normalised``: its highest one reaches the top bit if there is room.

    Combinational. If ``value`` is 0 and there is enough room, ``distance`` is all ones.
    """

    def __init__(self, *, width: int):
        self._width = width
        steps = (width - 1).bit_length()
        super().__init__({
            "value": In(width),  # the value to shift
            "room": In(steps),  # the longest distance allowed
            "free": In(1),  # there is no longest distance
            "normalised": Out(width),  # the shifted value
            "distance": Out(steps),  # by how much
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.blocks = blocks = NormaliseBlocks(width=self._width)
        m.submodules.bits = bits = NormaliseBits(width=self._width)
        m.d.comb += [
            blocks.value.eq(self.value), blocks.room.eq(self.room), blocks.free.eq(self.free),
            bits.value.eq(blocks.shifted), bits.room.eq(self.room), bits.free.eq(blocks.more),
            self.normalised.eq(bits.normalised), self.distance.eq(Cat(bits.distance, blocks.blocks)),
        ]
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
