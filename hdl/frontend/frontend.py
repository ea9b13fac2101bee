"""The front end: fetch pipeline, buffers and warp table around one coordination scheme."""

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import LINE_OFFSET_BITS, Coordination, SmConfig
from ..layouts.events import front_event_layout
from ..layouts.memory import memory_port_signature
from ..layouts.signatures import ahead_signature, flow_signature, selection_signature
from ..lib.component import Component
from ..lib.onehot import one_hot, select
from .baseline import BaselineCoordination
from .buffers import InstructionBuffers
from .decode import REGISTER_FIELDS
from .fetch import FetchPipeline
from .swas import SwasCoordination
from .vortex import VortexCoordination
from .warps import WarpTable

__all__ = ["FrontEnd"]

_SCHEMES: dict[Coordination, type[SwasCoordination | BaselineCoordination]] = {
    Coordination.SWAS: SwasCoordination,
    Coordination.BASELINE: BaselineCoordination,
    Coordination.VORTEX: VortexCoordination,
}


class FrontEnd(Component):
    """Fetch, I-cache, decode, buffers and warp selection (design.md section 3).

    The schemes share all parts. They differ in the warp that they select (a file for each scheme), and in whether
    wrong-path slots become NOPs (``swas``) or are dropped (:class:`hdl.frontend.buffers.InstructionBuffers`).

    For a warp selected for issue in cycle t: ``selection`` in t, the popped ``entry`` (unless ``nop``) in t+1. A fetch
    made in t looks up the I-cache in t+1, is decoded in t+3 and can be popped in t+4. At most one warp is selected and
    one fetch made in a cycle; in ``swas`` both are of the same warp. Reset: no warp has a miss or unresolved control
    flow; the buffers are as :class:`hdl.frontend.buffers.InstructionBuffers` says.

    ``ahead``: whether it has the port of this name, with what the issue stage needs early; by default, if the
    configuration has an operand register. ``asks``: whether it has the port ``may_issue``. Nothing else depends on
    them.

    ``event`` reports conditions that may never occur: ``empty_pop`` and ``miscounted``.
    """

    def __init__(self, config: SmConfig, *, ahead: bool | None = None, asks: bool = False) -> None:
        self._config, self._asks = config, asks
        self._ahead = config.operand_register if ahead is None else ahead
        members = {
            "flow": In(flow_signature(config)),  # from the control unit
            "halt": In(1),  # a fault has stopped the SM: nothing is selected or fetched
            "selection": Out(selection_signature(config)),  # for the issue stage
            "event": Out(front_event_layout(config)),  # this cycle, for observers
            "mem": Out(memory_port_signature(config, tag_bits=config.icache_tag_bits)),  # lines of instructions
        }
        if self._ahead:
            members["ahead"] = Out(ahead_signature(config))  # for the issue stage: what it needs early
        if asks:
            #: For the issue stage: the warps whose heads are instructions that issue if they are ready, except that in
            #: `swas` a warp whose fetch misses in this cycle does not.
            members["may_issue"] = Out(config.warps)
        if config.watches_locality:
            members["lost"] = In(config.warps)  # from the LSU: warps that lost locality in the previous cycle
        if len(config.policies) > 1:
            #: The issue policy, as an index into ``policies`` of the configuration; constant while the SM is busy.
            members["policy"] = In(range(len(config.policies)))
        if len(config.fetch_policies) > 1:
            members["fetch_policy"] = In(range(len(config.fetch_policies)))  # the fetch policy, likewise
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
        self._issue(m, scheme, fetch, warps, buffers)
        if self._ahead:
            self._look_ahead(m, scheme, fetch, buffers)
        if self._asks:
            suspended = fetch.lookup.suspended if config.coordination is Coordination.SWAS else 0
            waits = warps.unresolved | buffers.head_nop | buffers.empty | suspended
            m.d.comb += self.may_issue.eq(self.flow.active & ~waits)
        self._tell(m, scheme, fetch, warps, buffers)
        connect(m, flipped(self.flow), scheme.flow, warps.flow)
        connect(m, scheme.fetch, fetch.request, warps.fetch)
        connect(m, fetch.lookup, scheme.lookup, warps.lookup)
        connect(m, fetch.turn, scheme.turn, warps.turn)
        connect(m, fetch.done, buffers.fill)
        connect(m, flipped(self.mem), fetch.mem)
        return m

    def _coordinate(self, m: Module, scheme: Component, fetch: FetchPipeline, warps: WarpTable,
                    buffers: InstructionBuffers) -> None:
        """Connect the inputs of the scheme."""
        config = self._config
        if len(config.policies) > 1:
            m.d.comb += scheme.policy.eq(self.policy)
        if len(config.fetch_policies) > 1:
            m.d.comb += scheme.fetch_policy.eq(self.fetch_policy)
        if config.watches_locality:
            m.d.comb += [scheme.lost.eq(self.lost), self.event.lost.eq(self.lost)]
        held = [buffers.occupancy[w] + fetch.kept_in_flight[w] for w in range(config.warps)]
        resolved = Mux(self.flow.resolution.valid, one_hot(self.flow.resolution.warp, config.warps), 0)
        m.d.comb += [
            scheme.unresolved.eq(warps.unresolved),
            scheme.nop.eq(buffers.head_nop),
            scheme.ready.eq(self.selection.ready),
            scheme.empty.eq(buffers.empty),
            scheme.room.eq(Cat(count < config.buffer_depth for count in held)),
            scheme.decoded.eq(Mux(fetch.done.valid & ~fetch.done.squashed, one_hot(fetch.done.warp, config.warps), 0)),
            scheme.decoded_control.eq(fetch.done.entry.decoded.info.control),
            scheme.redirected.eq(warps.redirected),
            scheme.resolved.eq(resolved | self.flow.release),
            scheme.halt.eq(self.halt),
        ]
        for w in range(config.warps):
            m.d.comb += [
                scheme.fetched[w].eq(buffers.instructions[w] + fetch.kept_in_flight[w]),
                scheme.lanes[w].eq(sum((self.flow.masks[w][lane] for lane in range(config.threads)), Const(0, 1))),
            ]

    def _fetch(self, m: Module, scheme: Component, fetch: FetchPipeline, warps: WarpTable,
               buffers: InstructionBuffers) -> None:
        m.d.comb += [
            fetch.request_pc_if_hit.eq(warps.fetch_pc_if_hit),
            fetch.request_pc_if_missed.eq(warps.fetch_pc_if_missed),
            fetch.request_slot.eq(buffers.popped_slot),
            fetch.squash.eq(warps.redirected),
            fetch.invalidate.eq(self.flow.invalidate),
            buffers.flush.eq(warps.redirected),
            fetch.lines.eq(warps.lines),
        ]
        if self._config.learns:
            m.d.comb += [
                fetch.start.eq(self.flow.activation.warps),
                fetch.outcome.eq(self.flow.outcome),
                self.selection.prediction.eq(buffers.prediction),
            ]

    def _issue(self, m: Module, scheme: Component, fetch: FetchPipeline, warps: WarpTable,
               buffers: InstructionBuffers) -> None:
        infos, nops = [buffers.head_info[w] for w in range(self._config.warps)], buffers.head_nop
        control = ~nops & Cat(info.control for info in infos)

        def of_selected(of: Callable[[Value], Value]) -> Value:
            """``of(scheme.issue.select)``, computed for both outcomes of the lookup, which comes late."""
            return Mux(fetch.lookup.missed, of(scheme.issue.if_missed), of(scheme.issue.if_hit))

        m.d.comb += [
            self.selection.heads.eq(buffers.head_info),
            self.selection.select.eq(scheme.issue.select),
            self.selection.warp.eq(scheme.issue.warp),
            self.selection.nop.eq(of_selected(lambda selected: (selected & nops).any())),
            self.selection.info.eq(of_selected(lambda selected: select(selected, infos))),
            buffers.pop.eq(scheme.issue.select),
            buffers.pop_warp.eq(scheme.issue.warp),
            buffers.pop_if_hit.eq(scheme.issue.if_hit),
            buffers.pop_if_missed.eq(scheme.issue.if_missed),
            buffers.missed.eq(fetch.lookup.missed),
            self.selection.entry.eq(buffers.entry),
            warps.issued_if_hit.eq(scheme.issue.if_hit & control),
            warps.issued_if_missed.eq(scheme.issue.if_missed & control),
        ]

    def _look_ahead(self, m: Module, scheme: Component, fetch: FetchPipeline, buffers: InstructionBuffers) -> None:
        """Tell the issue stage both picks, and which instruction each buffer gives next."""
        ahead, entry = self.ahead, fetch.done.entry
        m.d.comb += [
            ahead.missed.eq(fetch.lookup.missed),
            ahead.if_hit.eq(scheme.issue.if_hit),
            ahead.if_missed.eq(scheme.issue.if_missed),
            ahead.nops.eq(buffers.head_nop),
            ahead.following.eq(buffers.following_info),
            ahead.arrives.eq(buffers.fills_following),
            ahead.arrival.eq(entry.decoded.info),
        ]
        # Bits of the word are available before it is decoded.
        for operand, low in REGISTER_FIELDS.items():
            m.d.comb += ahead.arrival[operand][:5].eq(entry.instruction[low:low + 5])
        if "arrives_head" in ahead.signature.members:
            m.d.comb += ahead.arrives_head.eq(buffers.fills_head)

    def _tell(self, m: Module, scheme: Component, fetch: FetchPipeline, warps: WarpTable,
              buffers: InstructionBuffers) -> None:
        """Fill the record of this cycle."""
        config, event = self._config, self.event
        unified = config.coordination is Coordination.SWAS
        missing = fetch.lookup.suspended | fetch.lookup.misses
        request, response = self.mem.request, self.mem.response
        m.d.comb += [
            event.eligible.eq(scheme.issue.eligible),
            event.select.eq(scheme.issue.select),
            event.select_valid.eq(scheme.issue.valid),
            event.select_warp.eq(scheme.issue.warp),
            event.select_nop.eq(self.selection.nop),
            event.select_unit.eq(self.selection.info.unit),
            event.select_store.eq(self.selection.info.store),
            event.unresolved.eq(warps.unresolved),
            # In swas a miss suspends the warp; otherwise it matters only when nothing is left to issue.
            event.fetch_waits.eq(missing if unified else missing & buffers.empty),
            event.buffer_empty.eq(0 if unified else buffers.empty),
            event.head_nop.eq(buffers.head_nop),
            event.fetch_eligible.eq(scheme.fetch.eligible),
            event.fetch.eq(scheme.fetch.select),
            event.fetch_valid.eq(scheme.fetch.valid),
            event.fetch_warp.eq(scheme.fetch.warp),
            event.missed.eq(fetch.lookup.misses.any()),
            event.miss.eq(fetch.miss),
            event.miss_warp.eq(fetch.miss_warp),
            event.miss_line.eq(fetch.lookup.pc[LINE_OFFSET_BITS:]),
            event.refill.eq(fetch.refill),
            event.woken.eq(fetch.woken),
            event.refill_line.eq(fetch.refill_line),
            event.turn.eq(fetch.turn.warps),
            event.request.eq(request.valid & request.ready),
            event.request_tag.eq(request.payload.tag),
            event.answer.eq(response.valid & response.ready),
            event.answer_tag.eq(response.payload.tag),
            event.empty_pop.eq(buffers.empty_pop),
        ]
        if config.oracles:
            m.d.comb += event.oracles.eq(scheme.oracle_select)
        self._count(m, scheme, fetch, buffers)

    def _count(self, m: Module, scheme: Component, fetch: FetchPipeline, buffers: InstructionBuffers) -> None:
        """Check that the buffers hold the expected number of instructions."""
        config = self._config
        if config.coordination is not Coordination.SWAS:
            m.d.comb += self.event.miscounted.eq(buffers.overflow)
            return
        held = Signal(range(2 * config.buffer_depth))
        counts = [buffers.occupancy[w] + fetch.in_flight[w] for w in range(config.warps)]
        m.d.comb += [
            held.eq(select(scheme.issue.select, counts)),
            self.event.miscounted.eq(scheme.issue.valid & (held != config.buffer_depth)),
        ]
