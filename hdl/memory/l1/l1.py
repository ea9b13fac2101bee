"""The L1: the lookup, the data cache, the MSHRs, the write buffer and memory's answers, connected."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from ...config import FaultCause, SmConfig
from ...layouts.execute import fault_layout
from ...layouts.memory import memory_port_signature
from ...layouts.probe import lookup_layout
from ...lib.component import Component
from ..seam import access_layout, answers_signature, lowest_address
from .dcache import DataCache
from .fill import FillStage
from .lookup import LookupStage
from .mshrs import Mshrs
from .parts import PartTable
from .places import PendingPlaces
from .requests import LineRequests
from .victim_tags import VictimTags
from .write_buffer import WriteBuffer

__all__ = ["L1"]


class L1(Component):
    """Performs line accesses in order: the lookup, the cache, memory's lines and stores, connected.

    An access is looked up in the cycle after it is taken, one a cycle; :class:`LookupStage` defines what has to wait.
    In the cycle of its lookup a hit goes to the response stage; a load that misses is at ``mem`` one cycle later, a
    store two. Reset: empty.
    """

    def __init__(self, config: SmConfig, *, invalidates: bool = False) -> None:
        self.config = config
        self._invalidates = config.ordered or (invalidates and config.dcache_bytes > 0)
        members: dict[str, Member] = {}
        if self._invalidates:
            #: The cache is empty from the next cycle on. Only while not ``busy``.
            members["invalidate"] = In(1)
        if config.watches_locality:
            #: The warps that have lost locality (:class:`VictimTags`). Registered.
            members["lost"] = Out(config.warps)
        super().__init__({
            **members,
            #: Line accesses, from the lanes.
            "access": In(stream.Signature(access_layout(config))),
            #: The access in the lookup gives way to the next one (:class:`LookupStage`), and will be offered again.
            "swap": In(1),
            #: The access in the lookup is completed in this cycle.
            "done": Out(1),
            #: The data of the loads' parts, to the response stage.
            "answers": Out(answers_signature(config)),
            #: Lines, with the LSU's tags.
            "mem": Out(memory_port_signature(config, tag_bits=config.l1_tag_bits)),
            #: Memory answered a line of stores with an error: from the cycle after the answer until ``fault_ready``.
            "fault_valid": Out(1),
            #: With ``fault_valid``: the fault, attributed to the first store of the line.
            "fault": Out(fault_layout(config)),
            #: The fault is accepted.
            "fault_ready": In(1),
            #: The warps with stores in the L1.
            "stores_pending": Out(config.warps),
            #: The L1 is not empty.
            "busy": Out(1),
            #: The actions of the lookup: :func:`lookup_layout` except for completed loads.
            "event": Out(lookup_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, hits = self.config, self.answers.hit
        m.submodules.lookup = lookup = LookupStage(config)
        m.submodules.mshrs = mshrs = Mshrs(config)
        m.submodules.parts = parts = PartTable(config)
        m.submodules.buffer = buffer = WriteBuffer(config)
        m.submodules.fill = fill = FillStage(config)
        m.submodules.requests = requests = LineRequests(config)
        connect(m, lookup.out, mshrs.lookup, parts.lookup, buffer.lookup, fill.lookup)
        connect(m, mshrs.out, lookup.mshrs, parts.mshrs, buffer.mshrs, fill.mshrs)
        connect(m, buffer.out, lookup.buffer, fill.buffer)
        connect(m, fill.out, lookup.fill, mshrs.fill, parts.fill, buffer.fill)
        connect(m, flipped(self.access), lookup.access)
        connect(m, mshrs.request, requests.load)
        connect(m, buffer.request, requests.store)
        connect(m, requests.request, flipped(self.mem.request))
        connect(m, flipped(self.mem.response), fill.response)
        m.d.comb += [
            self.busy.eq(lookup.out.held_valid | mshrs.busy | buffer.busy | self.fault_valid),
            self.event.eq(lookup.event),
            lookup.swap.eq(self.swap),
            self.done.eq(lookup.done),
            hits.push.eq(lookup.out.answers),
            hits.part.eq(lookup.out.held.part),
            lookup.slot_free.eq(hits.free),
        ]
        if config.dcache_bytes:
            cache = self._cache(m, lookup, fill)
            if config.ordered:
                self._places(m, cache, lookup, mshrs, fill)
            # Only one of them is non-zero at a time.
            m.d.comb += hits.data.eq(cache.data | buffer.forward_data)
            if config.watches_locality:
                self._victims(m, lookup, mshrs, fill, cache)
        else:
            m.d.comb += hits.data.eq(buffer.forward_data)
            if config.ordered:
                m.d.comb += lookup.may_place.eq(1)
        self._loads(m, lookup, parts, fill)
        self._stores(m, lookup, buffer)
        self._fault(m, buffer, fill)
        return m

    def _cache(self, m: Module, lookup: LookupStage, fill: FillStage) -> DataCache:
        m.submodules.cache = cache = DataCache(self.config, invalidates=self._invalidates)
        connect(m, lookup.out, cache.lookup)
        connect(m, fill.out, cache.fill)
        if not self.config.ordered:
            m.d.comb += lookup.hit.eq(cache.hit)
            if self._invalidates:
                m.d.comb += cache.invalidate.eq(self.invalidate)
        return cache

    def _places(self, m: Module, cache: DataCache, lookup: LookupStage, mshrs: Mshrs, fill: FillStage) -> None:
        """Lines that get a place in the cache before their bytes."""
        m.submodules.places = places = PendingPlaces(self.config)
        connect(m, lookup.out, places.lookup)
        connect(m, mshrs.out, places.mshrs)
        connect(m, fill.out, places.fill)
        on_its_way = mshrs.out.same.any() & ~(fill.out.here & (mshrs.out.same_number == fill.out.filled))
        m.d.comb += [
            cache.invalidate.eq(self.invalidate),
            cache.fill_place.eq(places.fill_place),
            places.place.eq(cache.victim),
            lookup.placed.eq(cache.hit),
            lookup.hit.eq(cache.hit & ~on_its_way),
            lookup.may_place.eq(~cache.recent & ~places.taken),
        ]

    def _victims(self, m: Module, lookup: LookupStage, mshrs: Mshrs, fill: FillStage, cache: DataCache) -> None:
        """Connect the tags that detect which warps lose lines and need them again."""
        m.submodules.victims = victims = VictimTags(self.config)
        connect(m, lookup.out, victims.lookup)
        connect(m, mshrs.out, victims.mshrs)
        connect(m, fill.out, victims.fill)
        m.d.comb += [victims.place.eq(cache.fill_place), self.lost.eq(victims.lost)]

    def _loads(self, m: Module, lookup: LookupStage, parts: PartTable, fill: FillStage) -> None:
        """The parts that wait for lines, and those lines."""
        slot = self.answers.fill
        m.d.comb += [
            lookup.parts_full.eq(parts.full),
            fill.left.eq(parts.left),
            fill.slot_free.eq(slot.free),
            slot.push.eq(fill.out.take),
            slot.part.eq(parts.answer),
            slot.data.eq(fill.data),
            slot.error.eq(fill.error),
        ]

    def _stores(self, m: Module, lookup: LookupStage, buffer: WriteBuffer) -> None:
        held = lookup.out.held
        address = lowest_address(m, self.config, held.part)
        m.d.comb += [
            buffer.store.warp.eq(held.part.warp),
            buffer.store.pc.eq(held.part.pc),
            buffer.store.address.eq(address),
        ]
        for warp in range(self.config.warps):
            here = lookup.out.held_valid & held.write & (held.part.warp == warp)
            m.d.comb += self.stores_pending[warp].eq(buffer.pending[warp] | here)

    def _fault(self, m: Module, buffer: WriteBuffer, fill: FillStage) -> None:
        """A store's fault, which stays until it is taken; until then no line of stores completes."""
        m.d.comb += [
            self.fault.cause.eq(FaultCause.STORE_ACCESS),
            self.fault.warp.eq(buffer.completed_store.warp),
            self.fault.pc.eq(buffer.completed_store.pc),
            self.fault.address.eq(buffer.completed_store.address),
        ]
        with m.If(fill.completed_error):
            m.d.sync += self.fault_valid.eq(1)
        with m.Elif(self.fault_ready):
            m.d.sync += self.fault_valid.eq(0)
        # With a ``lookup_latency`` of 2 a completion does not wait to learn that the register is emptied in this cycle.
        emptied = self.fault_ready & (self.config.lookup_latency == 1)
        m.d.comb += fill.fault_free.eq(~self.fault_valid | emptied)
