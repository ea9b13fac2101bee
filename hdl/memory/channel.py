"""One warp's channel: the places of its accesses, and the state that accesses of other warps check."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import LINE_BYTES, LINE_NUMBER_BITS
from ..lib.component import Component
from ..lib.lane_vectors import pick
from ..lib.onehot import one_hot

__all__ = ["NUMBER_BITS", "Channel", "ChannelWatch", "claim_layout", "conflict"]

#: Bits of the numbers that :class:`ChannelWatch` gives: more than a channel has places.
NUMBER_BITS = 5


def claim_layout() -> data.StructLayout:
    """The facts that decide whether two accesses may pass each other: the words of a line that one reads or writes."""
    return data.StructLayout({"line": LINE_NUMBER_BITS, "words": LINE_BYTES // 4, "write": 1, "uncached": 1})


def conflict(one: data.View, other: data.View) -> Value:
    """Whether two accesses must stay in order: both are uncached, or one writes a word that both touch."""
    common = (one.line == other.line) & (one.words & other.words).any()
    return (one.uncached & other.uncached) | (common & (one.write | other.write))


class Channel(Component):
    """A ring of places, without the accesses themselves. One access comes and one leaves a cycle. Reset: empty.

    May never happen: ``push`` without ``room``, or ``pop`` without ``there``.

    Parameters
    ----------
    depth
        Places, at least 1.
    """

    def __init__(self, *, depth: int) -> None:
        self._depth = depth
        bits = max(1, (depth - 1).bit_length())
        super().__init__({
            #: An access of any warp that arrives.
            "claim": In(claim_layout()),
            #: The access enters this channel, at ``tail``.
            "push": In(1),
            #: The oldest access leaves.
            "pop": In(1),
            #: The place of the oldest access. Registered.
            "head": Out(bits),
            #: The place of the second oldest access. Registered state only.
            "second": Out(bits),
            #: The place of the next access to arrive. Registered.
            "tail": Out(bits),
            #: The channel holds an access. Registered state only.
            "there": Out(1),
            #: The channel holds more than one access. Registered state only.
            "more": Out(1),
            #: There is a place for an arriving access; combinational with ``pop``.
            "room": Out(1),
            #: Combinational: an access that stays in the channel conflicts with ``claim``.
            "conflicts": Out(1),
            #: The channel holds a store. Registered state only.
            "stores": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = self._depth
        valid = Signal(depth)
        oldest, leaves, enters = Signal(depth), Signal(depth), Signal(depth)
        claims = [Signal(claim_layout(), name=f"claim{place}") for place in range(depth)]
        m.d.comb += [
            oldest.eq(one_hot(self.head, depth)),
            leaves.eq(Mux(self.pop, oldest, 0)),
            enters.eq(Mux(self.push, one_hot(self.tail, depth), 0)),
            self.second.eq(self._after(self.head)),
            self.there.eq(valid.any()),
            self.more.eq((valid & ~oldest).any()),
            self.room.eq(~valid.all() | self.pop),
            self.conflicts.eq((Cat(conflict(claim, self.claim) for claim in claims) & valid & ~leaves).any()),
            self.stores.eq((Cat(claim.write for claim in claims) & valid).any()),
        ]
        m.d.sync += valid.eq((valid & ~leaves) | enters)
        with m.If(self.pop):
            m.d.sync += self.head.eq(self.second)
        with m.If(self.push):
            m.d.sync += self.tail.eq(self._after(self.tail))
        for place, claim in enumerate(claims):
            with m.If(enters[place]):
                m.d.sync += claim.eq(self.claim)
        return m

    def _after(self, place: Signal) -> Value:
        return Mux(place == self._depth - 1, 0, place + 1)


class ChannelWatch(Component):
    """Numbers the accesses of each warp, and checks that the lookup completes them in this order.

    Parameters
    ----------
    warps
        Number of warps.
    """

    def __init__(self, *, warps: int) -> None:
        self._warps = warps
        super().__init__({
            #: One-hot or 0: the warp whose access arrives.
            "incoming": In(warps),
            #: The number of this access.
            "number": Out(NUMBER_BITS),
            #: The lookup takes an access.
            "given": In(1),
            #: With ``given``: its warp.
            "given_warp": In(max(1, (warps - 1).bit_length())),
            #: With ``given``: its number.
            "given_number": In(NUMBER_BITS),
            #: The lookup has completed the last access given to it.
            "done": In(1),
            #: See :attr:`Channels.wrong`.
            "wrong": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = data.StructLayout({"valid": 1, "warp": len(self.given_warp), "number": NUMBER_BITS})
        ahead, held, due = [], Signal(layout), Signal(NUMBER_BITS)
        done = [Signal(NUMBER_BITS, name=f"done{warp}") for warp in range(self._warps)]
        m.d.comb += due.eq(pick(done, held.warp))
        for warp in range(self._warps):
            came = Signal(NUMBER_BITS, name=f"came{warp}")
            with m.If(self.incoming[warp]):
                m.d.sync += came.eq(came + 1)
            with m.If(self.done & (held.warp == warp)):
                m.d.sync += done[warp].eq(done[warp] + 1)
            ahead.append(Mux(self.incoming[warp], came, 0))
        number = ahead[0]
        for value in ahead[1:]:
            number |= value
        m.d.comb += [
            self.number.eq(number),
            self.wrong.eq(self.done & (~held.valid | (held.number != due))),
        ]
        with m.If(self.given):
            m.d.sync += [held.valid.eq(1), held.warp.eq(self.given_warp), held.number.eq(self.given_number)]
        with m.Elif(self.done):
            m.d.sync += held.valid.eq(0)
        return m
