"""The front end: fetch pipeline, buffers and warp table around one coordination scheme."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import Coordination, SmConfig
from ..layouts.control import activation_layout, resolution_layout
from ..layouts.decoded import BufferEntry, IssueInfo
from ..layouts.probe import ORACLES
from ..lib.onehot import one_hot, select
from ..memory.port import icache_tag_bits, memory_port_signature
from .baseline import BaselineCoordination
from .buffers import InstructionBuffers
from .fetch import FetchPipeline
from .swas import SwasCoordination
from .vortex import VortexCoordination
from .warps import WarpTable

__all__ = ["FrontEnd"]

_SCHEMES = {
    Coordination.SWAS: SwasCoordination,
    Coordination.BASELINE: BaselineCoordination,
    Coordination.VORTEX: VortexCoordination,
}


class FrontEnd(wiring.Component):
    """Fetch, I-cache, decode, buffers and warp selection (design.md section 3).

    The schemes share all parts. They differ in who is selected (their own file each), and in whether what breaks the
    flow is replaced by NOPs (``swas``) or dropped (:class:`hdl.frontend.buffers.InstructionBuffers`).

    For a warp selected for issue in cycle t: ``select*`` in t, the popped ``entry`` (unless ``select_nop``) in t+1. A
    fetch made in t looks up the I-cache in t+1 (``miss``), is decoded in t+3 and can be popped in t+4.

    ``heads`` and ``head_nop`` tell the issue stage what to judge; ``ready`` is its judgement. ``resolution``,
    ``release`` and ``activation`` act on selection from the next cycle on; ``halt`` stops it. ``fetch_waits`` and
    ``starved``: warps with nothing to issue because of a miss, or because their buffer is empty for another reason.
    ``oracle_select``, with ``config.oracles``: what osched1 and osched2 pick (one-hot or 0).
    ``fetch*``, ``missed``, ``miss_line`` and ``woken`` are for the observer (:func:`hdl.layouts.probe.probe_layout`).
    ``turn``: the warp whose fetch is redirected by a jump in decode.
    ``empty_pop`` and ``miscounted`` (``swas``: buffer + in flight of the selected warp is not d; else: a full buffer
    is filled) may never be 1.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        members = {
            "active": In(config.warps),
            "waiting": In(config.warps),
            "masks": In(data.ArrayLayout(config.threads, config.warps)),
            "ready": In(config.warps),
            "halt": In(1),
            "resolution": In(resolution_layout(config)),
            "release": In(config.warps),
            "activation": In(activation_layout(config)),
            "invalidate": In(1),
            "heads": Out(data.ArrayLayout(IssueInfo, config.warps)),
            "head_nop": Out(config.warps),
            "eligible": Out(config.warps),
            "fetch_eligible": Out(config.warps),
            "fetch": Out(config.warps),
            "select": Out(config.warps),
            "select_valid": Out(1),
            "select_warp": Out(config.warp_bits),
            "select_nop": Out(1),
            "select_info": Out(IssueInfo),
            "entry": Out(BufferEntry),
            "unresolved": Out(config.warps),
            "suspended": Out(config.warps),
            "pc": Out(data.ArrayLayout(32, config.warps)),
            "fetch_waits": Out(config.warps),
            "starved": Out(config.warps),
            "miss": Out(1),
            "miss_warp": Out(config.warp_bits),
            "miss_line": Out(26),
            "missed": Out(1),
            "fetch_valid": Out(1),
            "fetch_warp": Out(config.warp_bits),
            "refill": Out(1),
            "woken": Out(config.warps),
            "refill_line": Out(26),
            "turn": Out(config.warps),
            "empty_pop": Out(1),
            "miscounted": Out(1),
            "mem": Out(memory_port_signature(config, tag_bits=icache_tag_bits(config))),
        }
        if len(config.policies) > 1:
            members["policy"] = In(range(len(config.policies)))
        if len(config.fetch_policies) > 1:
            members["fetch_policy"] = In(range(len(config.fetch_policies)))
        if config.oracles:
            members["oracle_select"] = Out(data.ArrayLayout(config.warps, ORACLES))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.scheme = scheme = _SCHEMES[config.coordination](config)
        m.submodules.fetch = fetch = FetchPipeline(config)
        m.submodules.warps = warps = WarpTable(config)
        m.submodules.buffers = buffers = InstructionBuffers(config)
        self._coordinate(m, scheme, fetch, warps, buffers)
        self._fetch(m, scheme, fetch, warps, buffers)
        self._issue(m, scheme, warps, buffers)
        self._watch(m, scheme, fetch, buffers)
        connect(m, flipped(self.mem), fetch.mem)
        return m

    def _coordinate(self, m: Module, scheme: SwasCoordination, fetch: FetchPipeline, warps: WarpTable,
                    buffers: InstructionBuffers) -> None:
        """What the scheme sees."""
        config = self._config
        if len(config.policies) > 1:
            m.d.comb += scheme.policy.eq(self.policy)
        if len(config.fetch_policies) > 1:
            m.d.comb += scheme.fetch_policy.eq(self.fetch_policy)
        held = [buffers.occupancy[w] + fetch.kept_in_flight[w] for w in range(config.warps)]
        resolved = Mux(self.resolution.valid, one_hot(self.resolution.warp, config.warps), 0)
        m.d.comb += [
            scheme.active.eq(self.active),
            scheme.waiting.eq(self.waiting),
            scheme.activated.eq(self.activation.warps),
            scheme.suspended.eq(fetch.suspended),
            scheme.lookup.eq(fetch.lookup),
            scheme.lookup_missed.eq(fetch.lookup_missed),
            scheme.missed.eq(fetch.missed),
            scheme.unresolved.eq(warps.unresolved),
            scheme.nop.eq(buffers.head_nop),
            scheme.ready.eq(self.ready),
            scheme.empty.eq(buffers.empty),
            scheme.room.eq(Cat(count < config.buffer_depth for count in held)),
            scheme.decoded.eq(Mux(fetch.done & ~fetch.done_squashed, one_hot(fetch.done_warp, config.warps), 0)),
            scheme.decoded_control.eq(fetch.entry.decoded.info.control),
            scheme.redirected.eq(warps.redirected),
            scheme.turned.eq(fetch.turn),
            scheme.resolved.eq(resolved | self.release),
            scheme.halt.eq(self.halt),
        ]
        for w in range(config.warps):
            m.d.comb += [
                scheme.fetched[w].eq(buffers.instructions[w] + fetch.kept_in_flight[w]),
                scheme.lanes[w].eq(sum((self.masks[w][lane] for lane in range(config.threads)), Const(0, 1))),
            ]

    def _fetch(self, m: Module, scheme: SwasCoordination, fetch: FetchPipeline, warps: WarpTable,
               buffers: InstructionBuffers) -> None:
        m.d.comb += [
            warps.fetched_if_hit.eq(scheme.fetch_if_hit),
            warps.fetched_if_missed.eq(scheme.fetch_if_missed),
            warps.lookup.eq(fetch.lookup),
            warps.lookup_pc.eq(fetch.miss_pc),
            warps.lookup_missed.eq(fetch.lookup_missed),
            fetch.request.eq(scheme.fetch_valid),
            fetch.request_if_hit.eq(scheme.fetch_if_hit),
            fetch.request_if_missed.eq(scheme.fetch_if_missed),
            fetch.request_warp.eq(scheme.fetch_warp),
            fetch.request_pc_if_hit.eq(warps.fetch_pc_if_hit),
            fetch.request_pc_if_missed.eq(warps.fetch_pc_if_missed),
            fetch.request_slot.eq(buffers.pop_slot),
            fetch.squash.eq(warps.redirected),
            fetch.invalidate.eq(self.invalidate),
            warps.turn.eq(fetch.turn),
            warps.turn_target.eq(fetch.turn_target),
            buffers.fill.eq(fetch.done),
            buffers.fill_warp.eq(fetch.done_warp),
            buffers.fill_slot.eq(fetch.done_slot),
            buffers.fill_nop.eq(fetch.done_squashed),
            buffers.fill_entry.eq(fetch.entry),
            buffers.flush.eq(warps.redirected),
            fetch.lines.eq(warps.lines),
        ]

    def _issue(self, m: Module, scheme: SwasCoordination, warps: WarpTable, buffers: InstructionBuffers) -> None:
        m.d.comb += [
            self.heads.eq(buffers.head_info),
            self.head_nop.eq(buffers.head_nop),
            self.eligible.eq(scheme.eligible),
            self.select.eq(scheme.issue),
            self.select_valid.eq(scheme.issue_valid),
            self.select_warp.eq(scheme.issue_warp),
            self.select_nop.eq((scheme.issue & buffers.head_nop).any()),
            self.select_info.eq(select(scheme.issue, [buffers.head_info[w] for w in range(self._config.warps)])),
            buffers.pop.eq(scheme.issue),
            buffers.pop_warp.eq(scheme.issue_warp),
            self.entry.eq(buffers.entry),
            warps.issued.eq(
                scheme.issue & ~buffers.head_nop & Cat(buffers.head_info[w].control for w in range(self._config.warps))
            ),
            warps.resolution.eq(self.resolution),
            warps.release.eq(self.release),
            warps.activation.eq(self.activation),
            self.unresolved.eq(warps.unresolved),
            self.pc.eq(warps.pc),
        ]

    def _watch(self, m: Module, scheme: SwasCoordination, fetch: FetchPipeline, buffers: InstructionBuffers) -> None:
        config = self._config
        unified = config.coordination is Coordination.SWAS
        held = Signal(range(2 * config.buffer_depth))
        missing = fetch.suspended | fetch.missed
        if config.oracles:
            m.d.comb += self.oracle_select.eq(scheme.oracle_select)
        m.d.comb += [
            held.eq(select(scheme.issue, [buffers.occupancy[w] + fetch.in_flight[w] for w in range(config.warps)])),
            self.miscounted.eq(
                scheme.issue_valid & (held != config.buffer_depth) if unified else buffers.overflow
            ),
            self.empty_pop.eq(buffers.empty_pop),
            # In swas a miss suspends the warp; else it matters once there is nothing left to issue.
            self.fetch_waits.eq(missing if unified else missing & buffers.empty),
            self.starved.eq(0 if unified else buffers.empty),
            self.suspended.eq(fetch.suspended),
            self.miss.eq(fetch.miss),
            self.miss_warp.eq(fetch.miss_warp),
            self.miss_line.eq(fetch.miss_pc[6:]),
            self.missed.eq(fetch.missed.any()),
            self.fetch_eligible.eq(scheme.fetch_eligible),
            self.fetch.eq(scheme.fetch),
            self.fetch_valid.eq(scheme.fetch_valid),
            self.fetch_warp.eq(scheme.fetch_warp),
            self.refill.eq(fetch.refill),
            self.woken.eq(fetch.woken),
            self.refill_line.eq(fetch.refill_line),
            self.turn.eq(fetch.turn),
        ]
