"""Lines: the lookup, the data cache, the misses, the write buffer and memory's answers, connected."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import FaultCause, SmConfig
from ..layouts.execute import fault_layout
from ..layouts.probe import lookup_layout
from .dcache import DataCache
from .fill import FillStage
from .lookup import LookupStage
from .misses import LoadMisses
from .parts import PartTable
from .port import lsu_tag_bits, memory_port_signature
from .records import access_layout, part_layout
from .requests import LineRequests
from .response import lowest_address
from .write_buffer import WriteBuffer

__all__ = ["LineAccesses"]


class LineAccesses(wiring.Component):
    """Takes line accesses in order and does them: :class:`LookupStage` says how.

    ``access``: looked up in the cycle after it is taken. ``fill_*``, ``hit_*``, ``forward_data``, ``peek_free``,
    ``key_*``: the slots of :class:`ResponseStage`; ``shares``: a part of the load of ``key_warp`` to ``key_rd`` is in
    here. ``fault_valid``, ``fault``: a line of stores that memory refused, until ``fault_ready``. ``stores_pending``:
    the warps with stores in here. ``busy``: something is in here. ``event``: :func:`lookup_layout` but for loads done.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        line = 8 * config.line_bytes
        super().__init__({
            "access": In(stream.Signature(access_layout(config))),
            "mem": Out(memory_port_signature(config, tag_bits=lsu_tag_bits(config))),
            "fill_push": Out(1), "fill_free": In(1), "fill_part": Out(part_layout(config)), "fill_data": Out(line),
            "fill_error": Out(1),
            "hit_push": Out(1), "hit_free": In(1), "hit_part": Out(part_layout(config)), "hit_forwarded": Out(1),
            "hit_data": Out(line), "forward_data": Out(line), "peek_free": In(1),
            "key_warp": In(config.warp_bits), "key_rd": In(6), "shares": Out(1),
            "fault_valid": Out(1), "fault": Out(fault_layout(config)), "fault_ready": In(1),
            "stores_pending": Out(config.warps), "busy": Out(1), "event": Out(lookup_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.lookup = lookup = LookupStage(config)
        m.submodules.misses = misses = LoadMisses(config)
        m.submodules.parts = parts = PartTable(config)
        m.submodules.buffer = buffer = WriteBuffer(config)
        m.submodules.fill = fill = FillStage(config)
        m.submodules.requests = requests = LineRequests(config)
        wiring.connect(m, wiring.flipped(self.access), lookup.access)
        wiring.connect(m, misses.request, requests.load)
        wiring.connect(m, buffer.request, requests.store)
        wiring.connect(m, requests.request, wiring.flipped(self.mem.request))
        wiring.connect(m, wiring.flipped(self.mem.response), fill.response)
        part, loads = lookup.held.part, lookup.held_valid & ~lookup.held.write
        m.d.comb += [
            self.shares.eq(parts.shares | (
                loads & part.writes_rd & (part.warp == self.key_warp) & (part.rd == self.key_rd)
            )),
            self.busy.eq(lookup.held_valid | misses.busy | buffer.busy | self.fault_valid),
            self.event.eq(lookup.event),
            self.hit_push.eq(lookup.answers),
            self.hit_part.eq(part),
            self.hit_forwarded.eq(lookup.forward),
            self.forward_data.eq(buffer.peek_data),
            lookup.slot_free.eq(self.hit_free),
        ]
        if config.dcache_bytes:
            self._cache(m, lookup, fill)
        self._loads(m, lookup, misses, parts, fill)
        self._stores(m, lookup, misses, buffer, fill)
        self._fault(m, buffer, fill)
        return m

    def _cache(self, m: Module, lookup: LookupStage, fill: FillStage) -> None:
        m.submodules.cache = cache = DataCache(self.config)
        m.d.comb += [
            cache.line.eq(lookup.held.part.line),
            cache.use.eq(lookup.use),
            cache.read.eq(lookup.read),
            cache.write.eq(lookup.write & cache.hit),
            cache.byte_mask.eq(lookup.held.byte_mask),
            cache.write_data.eq(lookup.held.data),
            cache.fill.eq(fill.install),
            cache.fill_line.eq(fill.line),
            cache.fill_data.eq(fill.install_data),
            lookup.hit.eq(cache.hit),
            lookup.install.eq(fill.install),
            lookup.install_line.eq(fill.line),
            self.hit_data.eq(cache.data),
        ]

    def _loads(
        self, m: Module, lookup: LookupStage, misses: LoadMisses, parts: PartTable, fill: FillStage
    ) -> None:
        """Misses, the parts that wait for them, and their lines."""
        joined = Signal.like(misses.number)
        with m.If(lookup.allocate):
            m.d.comb += joined.eq(misses.number)
        with m.Else():
            m.d.comb += joined.eq(misses.same_number)
        m.d.comb += [
            misses.line.eq(lookup.held.part.line),
            misses.uncached.eq(lookup.uncached),
            misses.allocate.eq(lookup.allocate),
            misses.asked.eq(fill.asked),
            misses.release.eq(fill.release),
            misses.released.eq(fill.filled),
            lookup.requested.eq(misses.same.any()),
            lookup.misses_full.eq(misses.full),
            parts.add.eq(lookup.add),
            parts.add_miss.eq(joined),
            parts.part.eq(lookup.held.part),
            parts.filled.eq(fill.filled),
            parts.answered.eq(fill.asked),
            parts.take.eq(fill.take),
            parts.take_filled.eq(fill.take_filled),
            parts.key_warp.eq(self.key_warp),
            parts.key_rd.eq(self.key_rd),
            lookup.parts_full.eq(parts.full),
            fill.asked_line.eq(misses.asked_line),
            fill.left.eq(parts.left),
            fill.joined.eq(lookup.add),
            fill.joined_miss.eq(joined),
            fill.slot_free.eq(self.fill_free),
            fill.peek_free.eq(self.peek_free),
            self.fill_push.eq(fill.take),
            self.fill_part.eq(parts.answer),
            self.fill_data.eq(fill.data),
            self.fill_error.eq(fill.error),
            lookup.accepts.eq(fill.accepts),
        ]

    def _stores(
        self, m: Module, lookup: LookupStage, misses: LoadMisses, buffer: WriteBuffer, fill: FillStage
    ) -> None:
        held = lookup.held
        address = lowest_address(m, self.config, held.part)
        m.d.comb += [
            buffer.line.eq(held.part.line),
            buffer.uncached.eq(lookup.uncached),
            buffer.byte_mask.eq(held.byte_mask),
            buffer.write.eq(lookup.write),
            buffer.data.eq(held.data),
            buffer.store.warp.eq(held.part.warp),
            buffer.store.pc.eq(held.part.pc),
            buffer.store.address.eq(address),
            buffer.waits_for.eq(misses.same),
            buffer.forward.eq(lookup.forward),
            buffer.overlay.eq(fill.accepts),
            buffer.answered.eq(fill.asked),
            buffer.filled.eq(fill.release),
            buffer.filled_number.eq(fill.filled),
            buffer.completed.eq(fill.completed),
            buffer.completed_number.eq(fill.completed_number),
            lookup.holds.eq(buffer.holds),
            lookup.covers.eq(buffer.covers),
            lookup.room.eq(buffer.ready),
            lookup.joins.eq(buffer.joins),
            fill.peek_mask.eq(buffer.peek_mask),
            fill.peek_data.eq(buffer.peek_data),
        ]
        for warp in range(self.config.warps):
            here = lookup.held_valid & held.write & (held.part.warp == warp)
            m.d.comb += self.stores_pending[warp].eq(buffer.pending[warp] | here)

    def _fault(self, m: Module, buffer: WriteBuffer, fill: FillStage) -> None:
        """The store fault register."""
        with m.If(fill.completed_error):
            m.d.sync += [
                self.fault_valid.eq(1),
                self.fault.cause.eq(FaultCause.STORE_ACCESS),
                self.fault.warp.eq(buffer.completed_store.warp),
                self.fault.pc.eq(buffer.completed_store.pc),
                self.fault.address.eq(buffer.completed_store.address),
            ]
        with m.Elif(self.fault_ready):
            m.d.sync += self.fault_valid.eq(0)
        m.d.comb += fill.fault_free.eq(~self.fault_valid | self.fault_ready)
