"""The SM's counters, and the one reason why nothing was selected in a cycle."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.probe import StallReason, counters_layout

__all__ = ["Counters", "StallAttribution"]


class StallAttribution(wiring.Component):
    """Each warp's reason for not being eligible, and the SM's reason for selecting nobody, combinational.

    ``head_reason`` is the scoreboard's judgement of each head. A warp that is active and eligible, and one that is
    not active, has reason NONE. ``stall`` is NONE when a warp was selected, POLICY when none was although there is an
    ``eligible`` one, else the lowest number among the active warps' reasons, IDLE if there is none.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "active": In(config.warps),
            "eligible": In(config.warps),
            "fetch_waits": In(config.warps),
            "starved": In(config.warps),
            "unresolved": In(config.warps),
            "waiting": In(config.warps),
            "head_nop": In(config.warps),
            "head_reason": In(data.ArrayLayout(4, config.warps)),
            "halt": In(1),
            "selected": In(1),
            "reason": Out(data.ArrayLayout(4, config.warps)),
            "stall": Out(4),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for w in range(self._config.warps):
            with m.If(~self.active[w]):
                m.d.comb += self.reason[w].eq(StallReason.NONE)
            with m.Elif(self.waiting[w]):
                m.d.comb += self.reason[w].eq(StallReason.BARRIER)
            with m.Elif(self.unresolved[w]):
                m.d.comb += self.reason[w].eq(StallReason.CONTROL)
            with m.Elif(self.fetch_waits[w]):
                m.d.comb += self.reason[w].eq(StallReason.ICACHE)
            with m.Elif(self.starved[w]):
                m.d.comb += self.reason[w].eq(StallReason.BUFFER)
            with m.Elif(~self.head_nop[w]):
                m.d.comb += self.reason[w].eq(self.head_reason[w])
        found = {
            reason: Cat(self.reason[w] == reason for w in range(self._config.warps)).any()
            for reason in StallReason if reason not in (StallReason.NONE, StallReason.POLICY)
        }
        m.d.comb += self.stall.eq(StallReason.IDLE)
        for reason in sorted(found, reverse=True):
            with m.If(found[reason]):
                m.d.comb += self.stall.eq(reason)
        with m.If(self.eligible.any()):
            m.d.comb += self.stall.eq(StallReason.POLICY)
        with m.If(self.halt):
            m.d.comb += self.stall.eq(StallReason.IDLE)
        with m.If(self.selected):
            m.d.comb += self.stall.eq(StallReason.NONE)
        return m


class Counters(wiring.Component):
    """Counts what :func:`hdl.layouts.probe.counters_layout` names.

    Inputs describe one cycle's selection (``selected``, ``nop``, ``stall``, ``miss``, ``load_waits``: warps whose
    head waits for a load, ``discrepancy`` and ``error``: osched1 and osched2 pick another warp) and count where
    ``region`` is 1 in that cycle, so that committed + nops + stalls = cycles. ``lanes`` counts
    the active lanes of a selected instruction and ``taken`` its redirect where they are known, later, with their own
    region bits. ``running``: the program runs (total_cycles). ``start`` clears all.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "start": In(1),
            "running": In(1),
            "region": In(1),
            "selected": In(1),
            "nop": In(1),
            "load": In(1),
            "stall": In(4),
            "discrepancy": In(1),
            "error": In(1),
            "miss": In(1),
            "load_waits": In(config.warps),
            "lanes": In(range(config.threads + 1)),
            "taken": In(1),
            "values": Out(counters_layout()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waits = Signal(range(self._config.warps + 1))
        m.d.comb += waits.eq(sum((self.load_waits[w] for w in range(self._config.warps)), Const(0, 1)))
        region = self.region
        steps = {
            "total_cycles": self.running,
            "cycles": region,
            "committed": region & self.selected & ~self.nop,
            "committed_threads": self.lanes,
            "nops": region & self.selected & self.nop,
            "discrepancies": region & self.discrepancy,
            "errors": region & self.error,
            "icache_misses": region & self.miss,
            "taken_branches": self.taken,
            "loads": region & self.selected & ~self.nop & self.load,
            "load_wait_cycles": Mux(region, waits, 0),
        }
        for name, step in steps.items():
            m.d.sync += self.values[name].eq(self.values[name] + step)
        for reason in StallReason:
            if reason is not StallReason.NONE:
                with m.If(region & (self.stall == reason)):
                    m.d.sync += self.values.stalls[reason].eq(self.values.stalls[reason] + 1)
        with m.If(self.start):
            m.d.sync += self.values.eq(0)
        return m
