"""The warps with stores that have not reached the L1."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["StoreTracker"]


class StoreTracker(Component):
    """Counts, per warp, the stores in the entrance and the coalescer.

    A store counts from ``taken`` to ``finished`` or ``cancelled``; all three may happen in one cycle. Reset: no stores.
    May never happen: more than ``limit`` stores of a warp, or the end of a store that was not taken.

    Parameters
    ----------
    warps
        Number of warps.
    limit
        The largest count that one warp can reach.
    """

    def __init__(self, *, warps: int, limit: int) -> None:
        self.warps = warps
        self.limit = limit
        warp_bits = max(1, (warps - 1).bit_length())
        super().__init__({
            #: A store is selected: its slot in the queue is taken.
            "taken": In(1),
            #: The warp of the taken store.
            "taken_warp": In(warp_bits),
            #: The coalescer has served the last lane of a store.
            "finished": In(1),
            #: The warp of the finished store.
            "finished_warp": In(warp_bits),
            #: A taken store is cancelled.
            "cancelled": In(1),
            #: The warp of the cancelled store.
            "cancelled_warp": In(warp_bits),
            #: For each warp, registered: high from the cycle after a store's take to the cycle of its end.
            "pending": Out(warps),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        event = Signal()
        m.d.comb += event.eq(self.taken | self.finished | self.cancelled)
        for warp in range(self.warps):
            count = Signal(range(self.limit + 1), name=f"count{warp}")
            m.d.comb += self.pending[warp].eq(count != 0)
            taken = self.taken & (self.taken_warp == warp)
            finished = self.finished & (self.finished_warp == warp)
            cancelled = self.cancelled & (self.cancelled_warp == warp)
            # Only `cancelled` is known early. The other events select among values that are computed before.
            base = count - cancelled
            with m.If(event):
                m.d.sync += count.eq(Mux(taken == finished, base, Mux(taken, base + 1, base - 1)))
        return m
