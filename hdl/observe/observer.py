"""The observer: everything that watches the SM without steering it."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.counters import COUNTER_BITS, counter_places, counters_layout
from ..layouts.probe import ASSERTIONS, STARVATION_CYCLES, passed_over_layout, probe_layout, unit_events
from ..lib.component import Component
from ..lib.onehot import or_all
from ..lib.partitions import interleaved, named
from .counters import Counters, StallAttribution
from .environment import EnvironmentWatch
from .starvation import PassedOver
from .watch import Sticky

__all__ = ["Observer"]


class Observer(Component):
    """Counters, stall attribution, assertions and the probe.

    Its inputs are the records of the units (:func:`hdl.layouts.probe.unit_events`), by their names there, and a few
    signals of the whole SM; all are of the current cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            #: The records of the units.
            **{name: In(layout) for name, layout in unit_events(config).items()},
            "start": In(1),  # the launch, one cycle
            "running": In(1),  # the SM is busy
            "halt": In(1),  # a fault has stopped the SM
            "overflow": In(1),  # the LSU got a request without room for it
            "disorder": In(1),  # an access has left its channel out of turn
            "counter_index": In(range(len(counter_places()))),  # a counter, for software or the port
            "counter_value": Out(COUNTER_BITS),  # its value, from registers
            #: With ``config.all_counters``: all, registers, for a run's report.
            **({"counters": Out(counters_layout())} if config.all_counters else {}),
            "assertions": Out(len(ASSERTIONS)),  # sticky, a bit for each; 0 without ``config.assertions``
            "probe": Out(probe_layout(config)),  # this cycle; 0 without ``config.probe``, as the next two are
            #: Registers: the pc of the instruction that each warp issued last; before its first, where it started.
            "hang_pc": Out(data.ArrayLayout(32, config.warps)),
            "passed_over": Out(passed_over_layout(config)),  # registers: the warps that each scheduler starves
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.counters = counters = Counters(self._config)
        stalls = [StallAttribution(self._config.partition) for _ in range(self._config.schedulers)]
        for p, part in enumerate(stalls):
            m.submodules[named("stalls", p)] = part
            m.d.comb += [
                part.front.eq(self._of("front", p)),
                part.issue.eq(self._of("issue", p)),
                part.control.eq(self._of("control", p)),
                part.halt.eq(self.halt),
                getattr(counters, named("front", p)).eq(self._of("front", p)),
                getattr(counters, named("control", p)).eq(self._of("control", p)),
                getattr(counters, named("stall", p)).eq(part.stall),
                getattr(counters, named("reason", p)).eq(part.reason),
            ]
        m.d.comb += [
            counters.start.eq(self.start),
            counters.running.eq(self.running),
            counters.index.eq(self.counter_index),
            self.counter_value.eq(counters.value),
        ]
        if self._config.all_counters:
            m.d.comb += self.counters.eq(counters.values)
        if self._config.assertions:
            self._assert(m)
        if self._config.probe:
            self._probe(m, stalls)
        return m

    def _of(self, name: str, partition: int) -> Any:
        return getattr(self, named(name, partition))

    def _assert(self, m: Module) -> None:
        """In the order of ASSERTIONS."""
        m.submodules.sticky = sticky = Sticky(width=len(ASSERTIONS))
        found = [self._broken(m, p) for p in range(self._config.schedulers)]
        m.d.comb += [sticky.bits.eq(or_all(found)), self.assertions.eq(sticky.seen)]

    def _broken(self, m: Module, p: int) -> Value:
        """The assertions that fail in a partition in this cycle."""
        m.submodules[named("environment", p)] = environment = EnvironmentWatch(self._config.partition)
        front, control = self._of("front", p), self._of("control", p)
        m.d.comb += [environment.front.eq(front), environment.control.eq(control)]
        return Cat(
            front.empty_pop,
            front.miscounted,
            (front.select & (front.select - 1)).any() | (front.fetch & (front.fetch - 1)).any(),
            self._of("issue", p).clash,
            self.overflow,
            self._illegal(front.eligible, front.select, front.select_valid)
            | self._illegal(front.fetch_eligible, front.fetch, front.fetch_valid),
            environment.broken,
            self.disorder,
        )

    def _illegal(self, eligible: Value, select: Value, valid: Value) -> Value:
        """Whether a warp is selected that is not eligible, or none although the scheduler says that one is."""
        return (select & ~eligible).any() | (valid & ~select.any())

    def _probe(self, m: Module, stalls: Sequence[StallAttribution]) -> None:
        count = self._config.schedulers
        for w in range(self._config.warps):
            issue, activation = self._of("issue", w % count), self._of("control", w % count).activation
            with m.If(activation.warps[w // count]):
                m.d.sync += self.hang_pc[w].eq(activation.pc)
            with m.Elif(issue.valid & (issue.warp == w // count)):
                m.d.sync += self.hang_pc[w].eq(issue.pc)
            m.d.comb += self.probe.sm.reason[w].eq(stalls[w % count].reason[w // count])
        m.d.comb += [self.probe[name].eq(getattr(self, name)) for name in unit_events(self._config)]
        m.d.comb += [self.probe.sm[named("stall", p)].eq(part.stall) for p, part in enumerate(stalls)]
        m.d.comb += self.probe.sm.halt.eq(self.halt)
        self._starvation(m)

    def _starvation(self, m: Module) -> None:
        def of(name: str) -> Value:
            return interleaved([self._of("front", p)[name] for p in range(self._config.schedulers)])

        stages = {"issue": (of("eligible"), of("select")), "fetch": (of("fetch_eligible"), of("fetch"))}
        for name, _ in self.passed_over.shape():
            eligible, select = stages[name]
            m.submodules[f"{name}_starvation"] = part = PassedOver(warps=self._config.warps, cycles=STARVATION_CYCLES)
            m.d.comb += [
                part.eligible.eq(eligible), part.select.eq(select), self.passed_over[name].eq(part.passed_over),
            ]
