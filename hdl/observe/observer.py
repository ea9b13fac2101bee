"""The observer: everything that watches the SM without steering it."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import Unit
from ..layouts.control import activation_layout, resolution_layout
from ..layouts.decoded import IssueInfo
from ..layouts.execute import operands_layout, writeback_layout
from ..layouts.probe import (
    ASSERTIONS,
    ORACLES,
    STARVATION_CYCLES,
    StallReason,
    counters_layout,
    passed_over_layout,
    probe_layout,
)
from .counters import Counters, StallAttribution
from .environment import environment_layout
from .starvation import PassedOver
from .watch import Sticky

__all__ = ["Observer"]


class Observer(wiring.Component):
    """Counters, stall attribution, assertions and the probe, from the signals that its inputs are named after.

    ``counters`` are registers; ``assertions`` are sticky; ``probe`` describes the current cycle; ``hang_pc`` is the pc
    of the instruction that each warp issued last (where it started, before the first); ``passed_over``: whom the
    schedulers starve.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        warps, warp_bits = config.warps, config.warp_bits
        probe = probe_layout(config)
        super().__init__({
            # The run.
            "start": In(1), "running": In(1), "halt": In(1), "region": In(1),
            # The front end.
            "active": In(warps), "eligible": In(warps), "select": In(warps), "select_valid": In(1),
            "select_warp": In(warp_bits), "select_nop": In(1), "select_info": In(IssueInfo), "fetch_waits": In(warps),
            "unresolved": In(warps), "waiting": In(warps), "starved": In(warps), "head_nop": In(warps),
            "resolution": In(resolution_layout(config)), "activation": In(activation_layout(config)),
            # Its fetches.
            "fetch_eligible": In(warps), "fetch": In(warps), "fetch_valid": In(1), "fetch_warp": In(warp_bits),
            "missed": In(1), "miss": In(1), "miss_warp": In(warp_bits), "miss_line": In(26), "refill": In(1),
            "woken": In(warps), "refill_line": In(26), "turn": In(warps),
            # What the oracles pick, where there are any.
            "oracle_select": In(data.ArrayLayout(warps, ORACLES)),
            # Issue and execution.
            "ready": In(warps), "reason": In(data.ArrayLayout(4, warps)), "operands": In(operands_layout(config)),
            "write_valid": In(1), "write": In(writeback_layout(config)), "taken": In(1),
            "retired": In(range(config.threads + 1)), "store_event": In(probe["store"].shape),
            "lookup_event": In(probe["lookup"].shape),
            # Never.
            "empty_pop": In(1), "miscounted": In(1), "clash": In(1), "overflow": In(1),
            "environment": In(environment_layout()),
            "counters": Out(counters_layout()),
            "assertions": Out(len(ASSERTIONS)),
            "probe": Out(probe),
            "hang_pc": Out(data.ArrayLayout(32, warps)),
            "passed_over": Out(passed_over_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.stalls = stalls = StallAttribution(config)
        m.d.comb += [
            stalls.active.eq(self.active), stalls.eligible.eq(self.eligible),
            stalls.fetch_waits.eq(self.fetch_waits), stalls.starved.eq(self.starved),
            stalls.unresolved.eq(self.unresolved), stalls.waiting.eq(self.waiting), stalls.head_nop.eq(self.head_nop),
            stalls.head_reason.eq(self.reason), stalls.halt.eq(self.halt), stalls.selected.eq(self.select_valid),
        ]
        self._count(m, stalls)
        if config.assertions:
            m.submodules.sticky = sticky = Sticky(width=len(ASSERTIONS))
            several = (self.select & (self.select - 1)).any()
            m.d.comb += [
                sticky.bits.eq(Cat(
                    self.empty_pop, self.miscounted, several, self.clash, self.overflow,
                    (self.select & ~self.active).any(), self.environment,
                )),
                self.assertions.eq(sticky.seen),
            ]
        if config.probe:
            self._probe(m, stalls)
        return m

    def _count(self, m: Module, stalls: StallAttribution) -> None:
        m.submodules.counters = counters = Counters(self._config)
        # An instruction belongs to the region in which it was selected, also where its lanes are counted later.
        selected_in_region = Signal(2)
        m.d.sync += selected_in_region.eq(Cat(self.region, selected_in_region[0]))
        m.d.comb += [
            counters.start.eq(self.start), counters.running.eq(self.running), counters.region.eq(self.region),
            counters.selected.eq(self.select_valid), counters.nop.eq(self.select_nop),
            counters.load.eq((self.select_info.unit == Unit.LSU) & ~self.select_info.store),
            counters.stall.eq(stalls.stall), counters.miss.eq(self.miss),
            counters.load_waits.eq(Cat(stalls.reason[w] == StallReason.LOAD for w in range(self._config.warps))),
            counters.lanes.eq(Mux(selected_in_region[1], self.retired, 0)),
            counters.taken.eq(selected_in_region[1] & self.taken),
            self.counters.eq(counters.values),
        ]
        if self._config.oracles:
            # Nobody is a pick like any other.
            m.d.comb += [
                counters.discrepancy.eq(self.oracle_select[0] != self.select),
                counters.error.eq(self.oracle_select[1] != self.select),
            ]

    def _probe(self, m: Module, stalls: StallAttribution) -> None:
        for w in range(self._config.warps):
            with m.If(self.activation.warps[w]):
                m.d.sync += self.hang_pc[w].eq(self.activation.pc)
            with m.Elif(self.operands.valid & (self.operands.warp == w)):
                m.d.sync += self.hang_pc[w].eq(self.operands.entry.pc)
        self._starvation(m)
        front, issue, wb = self.probe.front, self.probe.issue, self.probe.wb
        m.d.comb += [
            front.select.eq(self.select_valid), front.select_warp.eq(self.select_warp),
            front.select_nop.eq(self.select_nop), front.miss.eq(self.miss), front.miss_warp.eq(self.miss_warp),
            front.fetch.eq(self.fetch_valid), front.fetch_warp.eq(self.fetch_warp), front.missed.eq(self.missed),
            front.miss_line.eq(self.miss_line), front.refill.eq(self.refill), front.woken.eq(self.woken),
            front.refill_line.eq(self.refill_line), front.waiting.eq(self.waiting), front.head_ready.eq(self.ready),
            front.region.eq(self.region), front.halt.eq(self.halt),
            front.resolve.eq(self.resolution.valid), front.resolve_warp.eq(self.resolution.warp),
            front.redirect.eq(self.resolution.redirect), front.turn.eq(self.turn), front.eligible.eq(self.eligible),
            front.active.eq(self.active), front.activate.eq(self.activation.warps), front.stall.eq(stalls.stall),
            front.reason.eq(stalls.reason),
            issue.valid.eq(self.operands.valid), issue.warp.eq(self.operands.warp),
            issue.pc.eq(self.operands.entry.pc), issue.instruction.eq(self.operands.entry.instruction),
            issue.mask.eq(self.operands.mask),
            wb.valid.eq(self.write_valid), wb.value.eq(self.write),
            self.probe.store.eq(self.store_event), self.probe.lookup.eq(self.lookup_event),
        ]
        if self._config.oracles:
            m.d.comb += front.oracles.eq(self.oracle_select)

    def _starvation(self, m: Module) -> None:
        stages = {"issue": (self.eligible, self.select), "fetch": (self.fetch_eligible, self.fetch)}
        for name, _ in self.passed_over.shape():
            eligible, select = stages[name]
            m.submodules[f"{name}_starvation"] = part = PassedOver(warps=self._config.warps, cycles=STARVATION_CYCLES)
            m.d.comb += [
                part.eligible.eq(eligible), part.select.eq(select), self.passed_over[name].eq(part.passed_over),
            ]
