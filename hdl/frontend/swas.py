"""The synchronised front end (SWaS): one scheduler selects the warp that issues and fetches in the same cycle."""

from itertools import pairwise

from amaranth.hdl import Array, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import SmConfig
from ..layouts.control import activation_layout, resolution_layout
from ..layouts.decoded import BufferEntry, IssueInfo
from ..lib.onehot import one_hot, select
from ..memory.port import icache_tag_bits, memory_port_signature
from .buffers import InstructionBuffers, slot_bits
from .decode import Decoder
from .icache_store import ICacheStore
from .misses import MissUnit
from .scheduler import Scheduler
from .warps import WarpTable

__all__ = ["SwasFrontEnd"]


def _stage_layout(config: SmConfig) -> data.StructLayout:
    """A fetch on its way from request to decode: the slot that it will fill, and whether it has become a NOP."""
    return data.StructLayout({
        "valid": 1, "nop": 1, "warp": config.warp_bits, "slot": slot_bits(config), "pc": 32,
    })


class SwasFrontEnd(wiring.Component):
    """Fetch, I-cache, decode, buffers and the unified scheduler (paper 000, section IV-B; design.md section 3).

    For a warp selected in cycle t: ``select*`` in t, the popped ``entry`` (unless ``select_nop``) in t+1; its fetch
    looks up the I-cache in t+1 (``miss``), is decoded in t+3 and can be popped in t+4.

    A warp is eligible iff it is ``active``, has no miss outstanding, no unresolved control instruction, and its head
    is a NOP or ``ready``; ``halt`` stops selection. ``heads`` and ``head_nop`` tell the issue stage what to judge.
    ``resolution``, ``release`` and ``activation`` act on selection from the next cycle on. ``empty_pop`` and
    ``miscounted`` (buffer + in flight of the selected warp is not d) may never be 1.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        members = {
            "active": In(config.warps),
            "ready": In(config.warps),
            "halt": In(1),
            "resolution": In(resolution_layout(config)),
            "release": In(config.warps),
            "activation": In(activation_layout(config)),
            "invalidate": In(1),
            "heads": Out(data.ArrayLayout(IssueInfo, config.warps)),
            "head_nop": Out(config.warps),
            "eligible": Out(config.warps),
            "select": Out(config.warps),
            "select_valid": Out(1),
            "select_warp": Out(config.warp_bits),
            "select_nop": Out(1),
            "select_info": Out(IssueInfo),
            "entry": Out(BufferEntry),
            "unresolved": Out(config.warps),
            "suspended": Out(config.warps),
            "pc": Out(data.ArrayLayout(32, config.warps)),
            "miss": Out(1),
            "miss_warp": Out(config.warp_bits),
            "refill": Out(1),
            "refill_line": Out(26),
            "missing": Out(config.warps),
            "empty_pop": Out(1),
            "miscounted": Out(1),
            "mem": Out(memory_port_signature(config, tag_bits=icache_tag_bits(config))),
        }
        if len(config.policies) > 1:
            members["policy"] = In(range(len(config.policies)))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.scheduler = scheduler = Scheduler(config)
        m.submodules.store = store = ICacheStore(config)
        m.submodules.misses = misses = MissUnit(config)
        m.submodules.warps = warps = WarpTable(config)
        m.submodules.buffers = buffers = InstructionBuffers(config)
        m.submodules.decoder = decoder = Decoder()
        if len(config.policies) > 1:
            m.d.comb += scheduler.policy.eq(self.policy)
        lookup, fetched = self._fetch_pipeline(m, scheduler=scheduler, warps=warps, buffers=buffers, store=store)
        self._misses(m, lookup=lookup, store=store, misses=misses, warps=warps)
        self._select(m, scheduler=scheduler, warps=warps, buffers=buffers, misses=misses)

        m.d.comb += [
            decoder.instruction.eq(store.instruction),
            decoder.fetch_error.eq(store.error),
            buffers.fill.eq(fetched.valid),
            buffers.fill_warp.eq(fetched.warp),
            buffers.fill_slot.eq(fetched.slot),
            buffers.fill_nop.eq(fetched.nop),
            buffers.fill_entry.decoded.eq(decoder.decoded),
            buffers.fill_entry.instruction.eq(store.instruction),
            buffers.fill_entry.pc.eq(fetched.pc),
            buffers.flush.eq(warps.redirected),
            self.heads.eq(buffers.head_info),
            self.head_nop.eq(buffers.head_nop),
            self.entry.eq(buffers.entry),
            self.empty_pop.eq(buffers.empty_pop),
            self.unresolved.eq(warps.unresolved),
            self.suspended.eq(misses.suspended),
            self.pc.eq(warps.pc),
        ]
        return m

    def _fetch_pipeline(self, m: Module, *, scheduler: Scheduler, warps: WarpTable, buffers: InstructionBuffers,
                        store: ICacheStore) -> tuple[data.View, data.View]:
        """The stages of a fetch after its request; returns the one in lookup (t+1) and the one in decode (t+3)."""
        layout = _stage_layout(self._config)
        stages = [Signal(layout, name=f"fetch_{number}") for number in range(1, self._config.fetch_latency + 1)]
        m.d.sync += [
            stages[0].valid.eq(scheduler.select_valid),
            stages[0].nop.eq(0),
            stages[0].warp.eq(scheduler.select_warp),
            stages[0].slot.eq(buffers.pop_slot),
            stages[0].pc.eq(warps.selected_pc),
        ]
        for number, (stage, following) in enumerate(pairwise(stages)):
            flushed = Array(warps.redirected)[stage.warp]
            missed = stage.valid & ~stage.nop & ~store.hit if number == 0 else 0
            m.d.sync += [following.eq(stage), following.nop.eq(stage.nop | flushed | missed)]
        in_flight = Signal(range(len(stages) + 1))
        m.d.comb += [
            store.lookup_valid.eq(scheduler.select_valid),
            store.lookup_pc.eq(warps.selected_pc),
            in_flight.eq(sum((s.valid & (s.warp == scheduler.select_warp) for s in stages), Const(0, 1))),
            self.miscounted.eq(scheduler.select_valid & (buffers.occupancy + in_flight != self._config.buffer_depth)),
        ]
        return stages[0], stages[-1]

    def _misses(self, m: Module, *, lookup: data.View, store: ICacheStore, misses: MissUnit, warps: WarpTable) -> None:
        config = self._config
        missed = Signal()
        kept = Signal()
        self._missed_now = Signal(config.warps)
        m.d.comb += [
            missed.eq(lookup.valid & ~lookup.nop & ~store.hit),
            self._missed_now.eq(Mux(missed, one_hot(lookup.warp, config.warps), 0)),
            # A miss squashed in its own cycle still blocks selection in that cycle, but requests nothing.
            kept.eq((self._missed_now & ~warps.redirected).any()),
            misses.miss.eq(kept),
            misses.miss_warp.eq(lookup.warp),
            misses.miss_line.eq(lookup.pc[6:]),
            misses.release.eq(warps.redirected),
            misses.invalidate.eq(self.invalidate),
            warps.missed.eq(self._missed_now),
            warps.missed_pc.eq(lookup.pc),
            store.refill_valid.eq(misses.refill_valid),
            store.refill_line.eq(misses.refill_line),
            store.refill_data.eq(misses.refill_data),
            store.refill_error.eq(misses.refill_error),
            store.invalidate.eq(self.invalidate),
            self.missing.eq(self._missed_now),
            self.miss.eq(kept),
            self.miss_warp.eq(lookup.warp),
            self.refill.eq(misses.refill_valid),
            self.refill_line.eq(misses.refill_line),
        ]
        m.d.comb += [misses.pending_line[w].eq(warps.pc[w][6:]) for w in range(config.warps)]
        connect(m, flipped(self.mem), misses.mem)

    def _select(self, m: Module, *, scheduler: Scheduler, warps: WarpTable, buffers: InstructionBuffers,
                misses: MissUnit) -> None:
        """Eligibility never looks at how full a buffer is: that is the whole idea."""
        config = self._config
        may_run = self.active & ~misses.suspended & ~warps.unresolved & ~self._missed_now
        m.d.comb += [
            self.eligible.eq(Mux(self.halt, 0, may_run & (buffers.head_nop | self.ready))),
            scheduler.eligible.eq(self.eligible),
            self.select.eq(scheduler.select),
            self.select_valid.eq(scheduler.select_valid),
            self.select_warp.eq(scheduler.select_warp),
            self.select_nop.eq((scheduler.select & buffers.head_nop).any()),
            self.select_info.eq(select(scheduler.select, [buffers.head_info[w] for w in range(config.warps)])),
            buffers.pop.eq(scheduler.select),
            buffers.pop_warp.eq(scheduler.select_warp),
            warps.selected.eq(scheduler.select),
            warps.selected_control.eq(self.select_info.control & ~self.select_nop),
            warps.resolution.eq(self.resolution),
            warps.release.eq(self.release),
            warps.activation.eq(self.activation),
        ]
