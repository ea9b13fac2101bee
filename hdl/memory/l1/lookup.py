"""The lookup stage: decides how a line access proceeds."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...config import Channels, SmConfig
from ...layouts.probe import LookupWait, lookup_layout
from ...lib.component import Component
from ..seam import access_layout, set_of
from .signatures import fill_signature, lookup_signature, mshrs_signature, write_buffer_signature

__all__ = ["LookupStage"]


class LookupStage(Component):
    """Holds the line access that is looked up and decides how it proceeds; in order of arrival, one a cycle.

    An access taken in cycle c is decided in c+1 at the earliest. All outputs are combinational; they concern the held
    access and the other parts' answers for it. Reset: no access.

    - A load that hits reads the cache. A load that misses, but whose bytes the write buffer has, reads them there. Any
      other load waits while the write buffer holds its line, then joins the request for its line or makes a new one.
      Without a cache, and for uncached lines, it never joins; an uncached load waits until the others are done.
    - A store goes into the write buffer and, if it hits, into the cache. It waits in the two cycles in which a
      requested line is on its way into the cache (``accepts`` and ``install``), so that it is either merged into that
      line or finds it in the cache.
    - Any access waits in the cycle in which a line of its set goes into the cache: its own line, or one that replaces
      its own, which cannot be read in that cycle.
    - With ordered channels, the lines in the cache after a lookup depend only on the lookups before it. A line thus
      gets its place in the lookup that requests it, which waits while that place waits for memory, and the write
      buffer answers no load.
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
            #: The access in this stage, and its outcome.
            "out": Out(lookup_signature(config)),
            "fill": In(fill_signature(config)),  # from the fill stage
            "mshrs": In(mshrs_signature(config)),  # of the access's line
            "buffer": In(write_buffer_signature(config)),  # of the access's line
            #: The cache has the bytes of its line.
            "hit": In(1),
            #: No place for a waiting part is free.
            "parts_full": In(1),
            #: A hit can go to the response stage.
            "slot_free": In(1),
            #: The events of this cycle, for the probe.
            "event": Out(lookup_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        out, fill, mshrs, buffer = self.out, self.fill, self.mshrs, self.buffer
        held, goes = out.held, Signal()
        load, store, shares, can_answer, covered, may_add = (Signal() for _ in range(6))
        self._blocked = blocked = Signal()
        self._describe(m)
        goes_on = goes
        if self.config.channels is Channels.FREE:
            soon = blocked | Mux(held.write, buffer.ready, self.hit | (buffer.holds & ~self._compared & ~out.uncached))
            goes_on = goes | (self.swap & ~soon)
        m.d.comb += [self.access.ready.eq(~out.held_valid | goes_on), self.done.eq(goes)]
        with m.If(self.access.ready):
            m.d.sync += out.held_valid.eq(self.access.valid)
        # With a ``lookup_latency`` of 2 the registers are loaded without an access, too: that is known earlier.
        loads = self.access.ready & self.access.valid if self.config.lookup_latency == 1 else self.access.ready
        with m.If(loads):
            m.d.sync += held.eq(self.access.payload)

        may_join = ~out.uncached & (self.config.dcache_bytes > 0)
        answered = load & self.hit & can_answer
        used: Value = answered | (out.write & self.hit)
        no_place: Value = Const(0, 1)
        # No line goes into the cache.
        still = fill.quiet if self.config.lookup_latency > 1 and self.config.dcache_bytes else ~fill.install
        if self.config.ordered:
            used, no_place = (answered | out.add | out.write) & self.placed, ~out.uncached & ~self.may_place
        m.d.comb += [
            blocked.eq(self._same_set(m, fill)),
            load.eq(out.held_valid & ~held.write & ~blocked),
            store.eq(out.held_valid & held.write & ~blocked),
            can_answer.eq(self.slot_free | ~held.part.writes_rd),
            shares.eq(may_join & mshrs.requested),
            covered.eq(0 if self.config.ordered else (
                load & ~self.hit & ~out.uncached & buffer.holds & buffer.covers & can_answer & self._compared
                & buffer.readable
            )),
            out.forward.eq(covered & held.part.writes_rd),
            out.use.eq(used),
            out.read.eq(load & self.hit & self.slot_free & held.part.writes_rd),
            out.answers.eq(out.read | out.forward),
            may_add.eq(
                ~buffer.holds & ~self.parts_full
                & (shares | (~mshrs.full & ~(out.uncached & mshrs.requested) & ~no_place))
            ),
            out.add.eq(load & ~self.hit & may_add),
            out.allocate.eq(out.add & ~shares),
            out.write.eq(store & buffer.ready & still & ~(fill.accepts & mshrs.requested)),
            goes.eq(answered | covered | out.add | out.write),
        ]
        if self.config.lookup_latency > 1:
            self._early(m, goes, can_answer=can_answer, still=still, may_add=may_add)
        if self.config.ordered:
            m.d.comb += out.place.eq(out.allocate & ~out.uncached)
        self._event(m, goes=goes, shares=shares, covered=covered, blocked=blocked)
        return m

    def _early(self, m: Module, goes: Signal, *, can_answer: Value, still: Value, may_add: Value) -> None:
        """The same decisions with less logic. Registers of their own say that a load or a store is here.

        A store does not ask for lines of its set: ``still`` excludes all lines.
        """
        out, held, buffer = self.out, self.out.held, self.buffer
        load_here, store_here = Signal(), Signal()
        with m.If(self.access.ready):
            m.d.sync += [
                load_here.eq(self.access.valid & ~self.access.payload.write),
                store_here.eq(self.access.valid & self.access.payload.write),
            ]
        may_write = buffer.ready & still & ~(self.fill.accepts & self.mshrs.requested)
        m.d.comb += out.write.eq(out.held_valid & held.write & may_write)
        if self.config.ordered:
            return
        # Whether a load can be answered is known last.
        known = self.hit | (buffer.holds & buffer.covers & buffer.readable & self._compared & ~out.uncached)
        m.d.comb += goes.eq(
            (load_here & ~self._blocked & ((can_answer & known) | (~self.hit & may_add))) | (store_here & may_write))

    def _describe(self, m: Module) -> None:
        """Describe the access in the lookup, and the one that comes; the former by registers if there is time for it.

        ``_compared``: the write buffer has compared the bytes that it has of the line with those of the access.
        """
        config, out, line = self.config, self.out, self.access.payload.part.line
        user = config.memory_map.user // config.line_bytes
        self._compared: Value = Const(1, 1)
        self._set: Value = Const(0, 0)
        bits = config.dcache_set_bits
        if config.lookup_latency == 1:
            m.d.comb += out.uncached.eq(out.held.part.line < user)
            if config.dcache_bytes:
                self._set = set_of(out.held.part.line, bits)
            return
        m.d.comb += [
            out.comes.eq(self.access.ready),
            out.next_line.eq(line),
            out.next_set.eq(self.access.payload.set),
            out.next_uncached.eq(line < user),
            out.follows.eq((line == out.held.part.line) | (out.next_uncached & out.uncached)),
        ]
        self._compared = Signal(name="compared")
        m.d.sync += self._compared.eq(~self.access.ready)
        with m.If(self.access.ready):
            m.d.sync += out.uncached.eq(out.next_uncached)
        self._set = out.held.set

    def _same_set(self, m: Module, fill: Any) -> Value:
        """Whether a line of the set of the access goes into the cache.

        With a ``lookup_latency`` of 2 a register says so: the line is known when memory answers, a cycle earlier.
        """
        bits = self.config.dcache_set_bits
        if not self.config.dcache_bytes:
            return Const(0, 1)
        if self.config.lookup_latency == 1:
            return fill.install & (self._set == set_of(fill.line, bits))
        same, coming = Signal(name="same_set"), self.mshrs.asked_set
        m.d.sync += same.eq(fill.installs & Mux(
            self.access.ready, coming == self.access.payload.set, coming == self._set))
        return same

    def _event(self, m: Module, *, goes: Signal, shares: Signal, covered: Signal, blocked: Signal) -> None:
        out, fill, mshrs, buffer = self.out, self.fill, self.mshrs, self.buffer
        held, event = out.held, self.event
        m.d.comb += [
            event.access.eq(goes),
            event.first.eq(held.first),
            event.warp.eq(held.part.warp),
            event.line.eq(held.part.line),
            event.store.eq(held.write),
            event.uncached.eq(out.uncached),
            event.hit.eq(self.hit),
            event.forward.eq(covered),
            event.merge.eq(Mux(held.write, buffer.joins, out.add & shares)),
        ]
        if self.config.dcache_bytes:
            m.d.comb += [event.fill.eq(fill.install), event.fill_line.eq(fill.line)]
        with m.If(out.held_valid & ~goes):
            with m.If(blocked):
                m.d.comb += event.wait.eq(LookupWait.FILL)
            with m.Elif(held.write):
                m.d.comb += event.wait.eq(Mux(buffer.ready, LookupWait.FILL, LookupWait.BUFFER))
            # A chain of its own: without a cache `hit` is constant, and Verilator warns of overlaps in a longer one.
            with m.Else():
                with m.If(self.hit):
                    m.d.comb += event.wait.eq(LookupWait.WRITEBACK)
                with m.Elif(buffer.holds | (out.uncached & mshrs.requested)):
                    m.d.comb += event.wait.eq(LookupWait.ORDER)
                with m.Else():
                    m.d.comb += event.wait.eq(Mux(self.parts_full, LookupWait.PARTS, LookupWait.MSHR))
