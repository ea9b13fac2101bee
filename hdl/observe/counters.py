"""The SM's counters, and the single reason why no warp was selected in a cycle."""

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import Unit
from ..layouts.counters import COUNTER_BITS, COUNTERS, REASON_BITS, TOTAL, StallReason, counter_places, counters_layout
from ..layouts.events import control_event_layout, front_event_layout, issue_event_layout
from ..layouts.prediction import JumpKind
from ..lib.component import Component
from ..lib.lane_vectors import pick
from ..lib.partitions import named
from .counter_memory import CounterMemory

__all__ = ["Counters", "StallAttribution"]


class StallAttribution(Component):
    """The reason why each warp is not eligible, and why the SM selects no warp; combinational.

    A warp that is active and eligible, or not active, has reason NONE. ``stall`` is NONE if a warp was selected, POLICY
    if none was although one is eligible, else the lowest number among the active warps' reasons, or IDLE without active
    warps.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "front": In(front_event_layout(config)),  # this cycle of the front end
            "issue": In(issue_event_layout(config)),  # this cycle of the issue stage
            "control": In(control_event_layout(config)),  # this cycle of the control unit
            "halt": In(1),  # a fault has stopped the SM
            "reason": Out(data.ArrayLayout(REASON_BITS, config.warps)),  # each warp's StallReason
            "stall": Out(REASON_BITS),  # the SM's
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        front, control = self.front, self.control
        for w in range(self._config.warps):
            with m.If(~control.active[w]):
                m.d.comb += self.reason[w].eq(StallReason.NONE)
            with m.Elif(control.waiting[w]):
                m.d.comb += self.reason[w].eq(StallReason.BARRIER)
            with m.Elif(front.unresolved[w]):
                m.d.comb += self.reason[w].eq(StallReason.CONTROL)
            with m.Elif(front.fetch_waits[w]):
                m.d.comb += self.reason[w].eq(StallReason.ICACHE)
            with m.Elif(front.buffer_empty[w]):
                m.d.comb += self.reason[w].eq(StallReason.BUFFER)
            with m.Elif(~front.head_nop[w]):
                m.d.comb += self.reason[w].eq(self.issue.head_reason[w])
        found = {
            reason: Cat(self.reason[w] == reason for w in range(self._config.warps)).any()
            for reason in StallReason if reason not in (StallReason.NONE, StallReason.POLICY)
        }
        m.d.comb += self.stall.eq(StallReason.IDLE)
        for reason in sorted(found, reverse=True):
            with m.If(found[reason]):
                m.d.comb += self.stall.eq(reason)
        with m.If(front.eligible.any()):
            m.d.comb += self.stall.eq(StallReason.POLICY)
        with m.If(self.halt):
            m.d.comb += self.stall.eq(StallReason.IDLE)
        with m.If(front.select_valid):
            m.d.comb += self.stall.eq(StallReason.NONE)
        return m


class Counters(Component):
    """Counts what :data:`hdl.layouts.counters.COUNTERS` names.

    A selection counts if the region is open in its cycle, so that committed + nops + stalls = cycles. Properties of the
    instruction known only in stage X count for the region of its selection, too. Without research counters only
    total_cycles exists, and the others are 0. Reset: all 0.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config, part = config, config.partition
        #: The ports for each partition.
        own = {
            "front": In(front_event_layout(part)),  # this cycle of the front end
            "control": In(control_event_layout(part)),  # this cycle of the control unit
            "stall": In(REASON_BITS),  # the partition's StallReason in this cycle
            "reason": In(data.ArrayLayout(REASON_BITS, part.warps)),  # each warp's
        }
        super().__init__({
            "start": In(1),  # the launch, one cycle: all counters become 0
            "running": In(1),  # the SM is busy
            **{named(name, p): port for p in range(config.schedulers) for name, port in own.items()},
            "index": In(range(len(counter_places()))),  # a counter, as an index into ``counter_places``
            "value": Out(COUNTER_BITS),  # its value, from registers
            **({"values": Out(counters_layout())} if config.all_counters else {}),  # of all, registers
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        steps = self._steps(m)
        unlike = {counter.name for counter in COUNTERS if not counter.by_reason} ^ set(steps)
        if unlike:
            names = ", ".join(sorted(unlike))
            raise ValueError(f"a counter needs a line in hdl.layouts.counters and one in hdl.observe.counters: {names}")
        if not self._config.research_counters:
            self._total(m, steps[TOTAL])
        elif self._config.all_counters:
            self._registers(m, steps)
        else:
            self._memory(m, steps)
        return m

    def _total(self, m: Module, step: Value) -> None:
        total = Signal(COUNTER_BITS)
        m.d.sync += total.eq(Mux(self.start, 0, total + step))
        m.d.comb += self.value.eq(total)
        if self._config.all_counters:
            m.d.comb += self.values[TOTAL].eq(total)

    def _registers(self, m: Module, steps: dict[str, Value]) -> None:
        values = self.values
        for name, step in steps.items():
            m.d.sync += values[name].eq(values[name] + step)
        for reason in StallReason:
            if reason is not StallReason.NONE:
                m.d.sync += values.stalls[reason].eq(values.stalls[reason] + self._stalls(reason))
        with m.If(self.start):
            m.d.sync += values.eq(0)
        m.d.comb += self.value.eq(pick([
            values[counter.name][reason] if counter.by_reason else values[counter.name]
            for counter, reason in counter_places()
        ], self.index))

    def _memory(self, m: Module, steps: dict[str, Value]) -> None:
        by_place = [
            self._stalls(reason) if counter.by_reason else steps[counter.name]
            for counter, reason in counter_places()
        ]
        m.submodules.memory = memory = CounterMemory([len(step) for step in by_place])
        m.d.comb += [getattr(memory, f"step{place}").eq(step) for place, step in enumerate(by_place)]
        m.d.comb += [memory.clear.eq(self.start), memory.index.eq(self.index), self.value.eq(memory.value)]

    def _stalls(self, reason: StallReason) -> Value:
        """The partitions that select nothing for this reason."""
        stalls = [self._of("stall", p) == reason for p in range(self._config.schedulers)]
        return _sum(self.control.region & stall for stall in stalls)

    def _of(self, name: str, partition: int) -> Any:
        return getattr(self, named(name, partition))

    def _steps(self, m: Module) -> dict[str, Value]:
        """The increment of each counter at the end of this cycle."""
        parts = [self._steps_of(m, p) for p in range(self._config.schedulers)]
        return {
            "total_cycles": self.running, "cycles": self.control.region,
            **{name: _sum(part[name] for part in parts) for name in parts[0]},
        }

    def _steps_of(self, m: Module, p: int) -> dict[str, Value]:
        """The increments of one partition, for all counters except the cycles."""
        front, control = self._of("front", p), self._of("control", p)
        region = self.control.region
        instruction = region & front.select_valid & ~front.select_nop
        memory = instruction & (front.select_unit == Unit.LSU)
        warps = self._config.partition.warps
        waits = Signal(range(warps + 1), name=named("waits", p))
        waiting = [self._of("reason", p)[w] == StallReason.LOAD for w in range(warps)]
        # Whether the region was open in each of the last cycles, up to that of the selection of the instruction in X.
        selected_in_region = Signal(self._config.issue_latency, name=named("selected_in_region", p))
        m.d.comb += waits.eq(sum(waiting, Const(0, 1)))
        m.d.sync += selected_in_region.eq(Cat(region, selected_in_region[:-1]))
        return {
            "committed": instruction,
            "committed_threads": Mux(selected_in_region[-1], control.retired, 0),
            "nops": region & front.select_valid & front.select_nop,
            # An empty pick is compared like any other.
            "discrepancies": self._differs(front, 0),
            "errors": self._differs(front, 1),
            "icache_misses": region & front.miss,
            "taken_branches": selected_in_region[-1] & control.taken,
            "loads": memory & ~front.select_store,
            "load_wait_cycles": Mux(region, waits, 0),
            **self._jumps(selected_in_region[-1], control),
        }

    def _jumps(self, counts: Value, control: Any) -> dict[str, Value]:
        """Branches and jumps in stage X, and those predicted wrong."""
        steps: dict[str, Value] = {}
        for kind, name in ((JumpKind.BRANCH, "branches"), (JumpKind.RETURN, "returns"), (JumpKind.JUMP, "jumps")):
            steps[name] = counts & (control.jump == kind)
            steps[f"wrong_{name}"] = steps[name] & control.wrong
        return steps

    def _differs(self, front: Any, oracle: int) -> Value:
        """In the region: the oracle's pick differs from the selection."""
        if not self._config.oracles:
            return Const(0, 1)
        return self.control.region & (front.oracles[oracle] != front.select)


def _sum(steps: Iterable[Value]) -> Value:
    first, *others = steps
    return sum(others, first)
