"""The lookup stage: what becomes of a line access."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...config import LINE_NUMBER_BITS, Channels, SmConfig
from ...layouts.probe import LookupWait, lookup_layout
from ...lib.component import Component
from ..seam import access_layout
from .dcache import set_of

__all__ = ["LookupStage"]


class LookupStage(Component):
    """Holds the line access whose lookup it is and decides; in the order in which they come, one a cycle.

    An access that is taken in cycle c is decided in c+1 at the earliest. All outputs are combinational, of the access
    that is held and of the other parts' answers for it. Reset: no access.

    - A load that hits reads the cache. One that does not, but whose bytes the write buffer has, reads them there. Any
      other waits while the write buffer holds its line, then joins the request of its line, if there is one, or makes
      one. Without a cache, and for uncached lines, it joins none; an uncached one waits until the others are done.
    - A store goes into the write buffer and, where it hits, into the cache. It waits in the two cycles in which a line
      that somebody has requested is on its way into the cache (``accepts`` and ``install``), so that it is either laid
      over that line or finds it.
    - Anything waits in the cycle in which a line of its set goes into the cache: its own, or one that takes the place
      of its own, which cannot be read in that cycle.
    - With ordered channels which lines the cache has after a lookup depends on the lookups before it and on nothing
      else. So a line gets its place in the lookup that requests it, which waits while that place waits for memory. And
      the write buffer answers no load.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        placing: dict[str, wiring.Member] = {}
        if config.ordered:
            placing = {
                #: The line of the access has a place in the cache: it is there (``hit``), or on its way.
                "placed": In(1),
                #: The line of the access can be given one.
                "may_place": In(1),
            }
        super().__init__({
            **placing,
            #: Line accesses, in order.
            "access": In(stream.Signature(access_layout(config))),
            #: The access that is held makes room for the next one, if it waits for longer than a line that comes into
            #: the cache (``fill``) or a hit before it (``writeback``): it will come again. Only with free channels.
            "swap": In(1),
            #: The access that is held is done in this cycle.
            "done": Out(1),
            #: There is an access that is looked up. Registered.
            "held_valid": Out(1),
            #: That access. Registered.
            "held": Out(access_layout(config)),
            #: It lies below ``memory_map.user``.
            "uncached": Out(1),
            #: The cache has the bytes of its line.
            "hit": In(1),
            #: The write buffer holds its line.
            "holds": In(1),
            #: The youngest entry that does has all of its bytes.
            "covers": In(1),
            #: The write buffer can take a store of its line.
            "room": In(1),
            #: Such a store would join an entry.
            "joins": In(1),
            #: An MSHR holds its line; of an uncached access: any uncached line.
            "requested": In(1),
            #: No MSHR is free.
            "mshrs_full": In(1),
            #: No place for a waiting part is free.
            "parts_full": In(1),
            #: A hit can go to the response stage.
            "slot_free": In(1),
            #: The fill stage accepts a line from memory in this cycle.
            "accepts": In(1),
            #: The fill stage puts a line into the cache in this cycle.
            "install": In(1),
            #: The line in the fill stage.
            "install_line": In(LINE_NUMBER_BITS),
            #: The cache counts the hit as a use.
            "use": Out(1),
            #: A load reads the cache.
            "read": Out(1),
            #: A load reads the write buffer.
            "forward": Out(1),
            #: The load that reads one of them goes to the response stage.
            "answers": Out(1),
            #: A load becomes a part that waits for a line.
            "add": Out(1),
            #: With ``add``: the line is requested, in a new MSHR.
            "allocate": Out(1),
            #: The store goes into the write buffer, and into the cache if it hits.
            "write": Out(1),
            #: What happens in this cycle, for the probe.
            "event": Out(lookup_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, goes = self.held, Signal()
        load, store, shares, can_answer, covered = Signal(), Signal(), Signal(), Signal(), Signal()
        user = self.config.memory_map.user // self.config.line_bytes
        blocked = Signal()
        goes_on = goes
        if self.config.channels is Channels.FREE:
            soon = blocked | Mux(held.write, self.room, self.hit)
            goes_on = goes | (self.swap & ~soon)
        m.d.comb += [self.access.ready.eq(~self.held_valid | goes_on), self.done.eq(goes)]
        with m.If(self.access.ready):
            m.d.sync += self.held_valid.eq(self.access.valid)
        with m.If(self.access.ready & self.access.valid):
            m.d.sync += held.eq(self.access.payload)

        may_join = ~self.uncached & (self.config.dcache_bytes > 0)
        answered = load & self.hit & can_answer
        used: Value = answered | (self.write & self.hit)
        no_place: Value = Const(0, 1)
        if self.config.ordered:
            used, no_place = (answered | self.add | self.write) & self.placed, ~self.uncached & ~self.may_place
        m.d.comb += [
            self.uncached.eq(held.part.line < user),
            blocked.eq(self.install & self._same_set(held.part.line, self.install_line)),
            load.eq(self.held_valid & ~held.write & ~blocked),
            store.eq(self.held_valid & held.write & ~blocked),
            can_answer.eq(self.slot_free | ~held.part.writes_rd),
            shares.eq(may_join & self.requested),
            covered.eq(
                0 if self.config.ordered else load & ~self.hit & ~self.uncached & self.holds & self.covers & can_answer
            ),
            self.forward.eq(covered & held.part.writes_rd),
            self.use.eq(used),
            self.read.eq(load & self.hit & self.slot_free & held.part.writes_rd),
            self.answers.eq(self.read | self.forward),
            self.add.eq(
                load & ~self.hit & ~self.holds & ~self.parts_full
                & (shares | (~self.mshrs_full & ~(self.uncached & self.requested) & ~no_place))
            ),
            self.allocate.eq(self.add & ~shares),
            self.write.eq(store & self.room & ~self.install & ~(self.accepts & self.requested)),
            goes.eq(answered | covered | self.add | self.write),
        ]
        self._event(m, goes=goes, shares=shares, covered=covered, blocked=blocked)
        return m

    def _same_set(self, line: Value, other: Value) -> Value:
        config = self.config
        if not config.dcache_bytes:
            return Const(0, 1)
        bits = (config.dcache_bytes // config.line_bytes // config.dcache_ways - 1).bit_length()
        return set_of(line, bits) == set_of(other, bits)

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
            # A chain of its own: without a cache `hit` is constant, and Verilator warns of overlaps in a longer one.
            with m.Else():
                with m.If(self.hit):
                    m.d.comb += event.wait.eq(LookupWait.WRITEBACK)
                with m.Elif(self.holds | (self.uncached & self.requested)):
                    m.d.comb += event.wait.eq(LookupWait.ORDER)
                with m.Else():
                    m.d.comb += event.wait.eq(Mux(self.parts_full, LookupWait.PARTS, LookupWait.MSHR))
