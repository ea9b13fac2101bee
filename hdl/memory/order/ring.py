"""One warp's channel in the order unit: its places, and the number of claimed places."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["Ring"]


class Ring(Component):
    """Counts a warp's accesses, which are stored elsewhere at ``head`` to ``tail``. One enters and one leaves a cycle.

    When a load or store is selected, it claims as many places as it may have accesses. It releases the claim when the
    coalescer has finished with it. An access therefore always finds a place. Reset: empty. May never happen: ``push``
    into a full ring, or ``pop`` of an empty one.

    Parameters
    ----------
    depth
        Number of places that can be claimed.
    most
        Maximum number of accesses of one load or store; at most ``depth``.
    late
        Maximum number of accesses that arrive after the claim of their load or store has been released; there are as
        many more places.
    """

    def __init__(self, *, depth: int, most: int, late: int = 0) -> None:
        self._depth, self._most = depth, most
        self._places = places = depth + late
        bits = max(1, (places - 1).bit_length())
        super().__init__({
            #: A load or store of the warp is selected; only with ``room``.
            "take": In(1),
            #: The coalescer has finished with a load or store.
            "leave": In(1),
            #: A selected load or store is cancelled.
            "cancel": In(1),
            #: A load or store may be selected. Registered state only.
            "room": Out(1),
            #: An access arrives, at ``tail``.
            "push": In(1),
            #: With ``push``: it is a store.
            "push_store": In(1),
            #: The oldest access leaves.
            "pop": In(1),
            #: With ``pop``: it is a store.
            "pop_store": In(1),
            #: The place of the oldest access. Registered.
            "head": Out(bits),
            #: The place of the next access to arrive. Registered.
            "tail": Out(bits),
            #: The channel holds an access. A register.
            "there": Out(1),
            #: The channel holds a store. Registered state only.
            "stores": Out(1),
            #: An event that may never happen has happened.
            "wrong": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most, depth, places = self._most, self._depth, self._places
        count, stores, claimed = (Signal(range(places + 1), name=name) for name in ("count", "of_stores", "claimed"))
        m.d.comb += [
            self.room.eq(count + claimed + most <= depth),
            self.stores.eq(stores != 0),
            self.wrong.eq((self.push & ~self.pop & (count == places)) | (self.pop & (count == 0))),
        ]
        m.d.sync += [
            count.eq(count + self.push - self.pop),
            stores.eq(stores + (self.push & self.push_store) - (self.pop & self.pop_store)),
            claimed.eq(
                claimed + Mux(self.take, most, 0) - Mux(self.leave, most, 0) - Mux(self.cancel, most, 0)
            ),
        ]
        m.d.sync += self.there.eq(self.push | ((count != 0) & ~((count == 1) & self.pop)))
        with m.If(self.push):
            m.d.sync += self.tail.eq(self._after(self.tail))
        with m.If(self.pop):
            m.d.sync += self.head.eq(self._after(self.head))
        return m

    def _after(self, place: Signal) -> Value:
        return Mux(place == self._places - 1, 0, place + 1)
