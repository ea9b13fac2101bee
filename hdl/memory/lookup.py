"""The lookup stage: what becomes of a line access."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.probe import LookupWait, lookup_layout
from .records import LINE_BITS, access_layout

__all__ = ["LookupStage"]


class LookupStage(wiring.Component):
    """Holds the line access whose lookup it is and decides; in order, one a cycle. Everything here is combinational.

    - A load that hits reads the cache. One that does not, but whose bytes the write buffer has, reads them there. Any
      other waits while the write buffer holds its line, then joins the request of its line, if there is one, or makes
      one. Without a cache, and for uncached lines, it joins none; an uncached one waits until the others are done.
    - A store goes into the write buffer and, where it hits, into the cache. It waits in the two cycles in which a line
      that somebody has requested is on its way into the cache (``accepts`` and ``install``), so that it is either laid
      over that line or finds it.
    - Anything waits in the cycle in which its own line goes into the cache.

    Ports
    -----
    ``access``: stream in. ``held_valid``, ``held``, ``uncached``: the access that is looked up. ``hit``: the cache's;
    ``holds``, ``covers``, ``room``, ``joins``: the write buffer's; ``requested``, ``misses_full``, ``parts_full``: the
    miss registers' and the table's; ``slot_free``: a hit can go to the response stage. ``accepts``, ``install``,
    ``install_line``: the fill stage's.
    What is done now: ``use`` (the cache records a hit), ``read``, ``forward`` (from the write buffer), ``answers``
    (``held`` goes to the response stage), ``add`` (``held`` waits for a line), ``allocate`` (which it requests),
    ``write`` (a store is taken; the cache writes where it hits). ``event``: see :func:`lookup_layout`.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        super().__init__({
            "access": In(stream.Signature(access_layout(config))),
            "held_valid": Out(1), "held": Out(access_layout(config)), "uncached": Out(1),
            "hit": In(1), "holds": In(1), "covers": In(1), "room": In(1), "joins": In(1),
            "requested": In(1), "misses_full": In(1), "parts_full": In(1), "slot_free": In(1),
            "accepts": In(1), "install": In(1), "install_line": In(LINE_BITS),
            "use": Out(1), "read": Out(1), "forward": Out(1), "answers": Out(1), "add": Out(1), "allocate": Out(1),
            "write": Out(1), "event": Out(lookup_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, goes = self.held, Signal()
        load, store, shares, found, covered = Signal(), Signal(), Signal(), Signal(), Signal()
        user = self.config.memory_map.user // self.config.line_bytes
        m.d.comb += self.access.ready.eq(~self.held_valid | goes)
        with m.If(self.access.ready):
            m.d.sync += self.held_valid.eq(self.access.valid)
        with m.If(self.access.ready & self.access.valid):
            m.d.sync += held.eq(self.access.payload)

        blocked = Signal()
        may_join = ~self.uncached & (self.config.dcache_bytes > 0)
        m.d.comb += [
            self.uncached.eq(held.part.line < user),
            blocked.eq(self.install & (held.part.line == self.install_line)),
            load.eq(self.held_valid & ~held.write & ~blocked),
            store.eq(self.held_valid & held.write & ~blocked),
            found.eq(self.slot_free | ~held.part.writes_rd),
            shares.eq(may_join & self.requested),
            covered.eq(load & ~self.hit & ~self.uncached & self.holds & self.covers & ~self.accepts & found),
            self.forward.eq(covered & held.part.writes_rd),
            self.use.eq((load & self.hit & found) | (self.write & self.hit)),
            self.read.eq(load & self.hit & self.slot_free & held.part.writes_rd),
            self.answers.eq(self.read | self.forward),
            self.add.eq(
                load & ~self.hit & ~self.holds & ~self.parts_full
                & (shares | (~self.misses_full & ~(self.uncached & self.requested)))
            ),
            self.allocate.eq(self.add & ~shares),
            self.write.eq(store & self.room & ~self.install & ~(self.accepts & self.requested)),
            goes.eq((load & self.hit & found) | covered | self.add | self.write),
        ]
        self._event(m, goes=goes, shares=shares, covered=covered, blocked=blocked)
        return m

    def _event(self, m: Module, *, goes: Signal, shares: Signal, covered: Signal, blocked: Signal) -> None:
        held, event = self.held, self.event
        m.d.comb += [
            event.access.eq(goes),
            event.first.eq(held.first),
            event.warp.eq(held.part.warp),
            event.line.eq(held.part.line),
            event.store.eq(held.write),
            event.uncached.eq(self.uncached),
            event.hit.eq(self.hit),
            event.forward.eq(covered),
            event.merge.eq(Mux(held.write, self.joins, self.add & shares)),
            event.fill.eq(self.install),
            event.fill_line.eq(self.install_line),
        ]
        with m.If(self.held_valid & ~goes):
            with m.If(blocked):
                m.d.comb += event.wait.eq(LookupWait.FILL)
            with m.Elif(held.write):
                m.d.comb += event.wait.eq(Mux(self.room, LookupWait.FILL, LookupWait.BUFFER))
            with m.Elif(self.hit):
                m.d.comb += event.wait.eq(LookupWait.WRITEBACK)
            with m.Elif(self.holds | (self.uncached & self.requested)):
                m.d.comb += event.wait.eq(LookupWait.ORDER)
            with m.Else():
                m.d.comb += event.wait.eq(Mux(self.parts_full, LookupWait.PARTS, LookupWait.MSHR))
