"""Vortex: as baseline, but a warp has only one fetch in flight, and does not fetch past control flow (design.md, 3)."""

from amaranth.hdl import Module, Mux, Signal

from .baseline import BaselineCoordination

__all__ = ["VortexCoordination"]


class VortexCoordination(BaselineCoordination):
    """A warp is stalled from its fetch to its decode, and after a branch or SIMT instruction until it resolves.

    A fetch that misses ends the stall: the warp is suspended instead, and fetches again when its line arrives.
    """

    def _stalled(self, m: Module) -> Signal:
        stalled = Signal(self._config.warps)
        over = self.redirected | self.resolved | Mux(self.decoded_control, 0, self.decoded)
        m.d.sync += stalled.eq(Mux(
            self.lookup.missed,
            stalled & ~over & ~self.lookup.warps | self.fetch.if_missed,
            stalled & ~over | self.fetch.if_hit,
        ))
        return stalled
