"""Which warps have stores that the lookup stage has not got yet."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["StoreTracker"]

#: Events that add one, and that take one away.
_UP = ("taken",)
_DOWN = ("finished", "cancelled")


class StoreTracker(wiring.Component):
    """Counts, per warp, the stores in the entrance and the coalescer.

    A store counts from ``taken`` to ``finished`` (its last lane was served) or ``cancelled``. Every event has a warp
    number ``<event>_warp``; all may come in one cycle. ``pending`` is registered: a bit is set from the cycle after the
    take to the cycle of the end.

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
        super().__init__(
            {event: In(1) for event in _UP + _DOWN}
            | {f"{event}_warp": In(warp_bits) for event in _UP + _DOWN}
            | {"pending": Out(warps)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        event = Signal()
        m.d.comb += event.eq(sum(getattr(self, name) for name in _UP + _DOWN) != 0)
        for warp in range(self.warps):
            count = Signal(range(self.limit + 1), name=f"count{warp}")
            m.d.comb += self.pending[warp].eq(count != 0)
            total = count
            for name in _UP:
                total = total + self._hits(name, warp)
            for name in _DOWN:
                total = total - self._hits(name, warp)
            with m.If(event):
                m.d.sync += count.eq(total)
        return m

    def _hits(self, name: str, warp: int) -> Signal:
        return getattr(self, name) & (getattr(self, f"{name}_warp") == warp)
