"""The cost of each instruction in a bound or a run, for a table by source line."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from metronome.hdl.config import SmConfig

from ...machine.events import NONE
from ...show.trace.cycles import Cycles
from ...show.trace.profile import Profile
from ..code.decoding import Decoded
from ..paths.clock import Access, Clock
from .compose.implicit import nops_by_jump, parts_of
from .compose.parts import Composed
from .compose.work_conserving import POLICIES, Demand
from .counts import SharedState
from .pipeline import Pipeline

__all__ = ["AttributedPipeline", "CostByInstruction", "RunCosts", "cost_of"]


class AttributedPipeline(Pipeline):
    """A pipeline that attributes waits to instructions by pc. With strict turns, these are all its cycles.

    ``own``: the warp's waits since it last met other warps. ``past``: its waits before then. ``met``: the waits of the
    chain before then. When paths join, the waits of the later path are kept.
    """

    def __init__(self, shared: SharedState, warp: int = 0, *, strict: bool = False) -> None:
        super().__init__(shared, warp, strict=strict)
        self.own: Counter[int] = Counter()
        self.past: Counter[int] = Counter()
        self.met: Counter[int] = Counter()

    def copy(self) -> Self:
        """See :class:`sim.analysis.paths.clock.Clock`."""
        twin = super().copy()
        twin.own = Counter(self.own)
        return twin

    def join(self, other: Clock) -> None:
        """See :class:`sim.analysis.paths.clock.Clock`."""
        assert isinstance(other, AttributedPipeline)
        if other.time > self.time:
            self.own, self.past, self.met = Counter(other.own), other.past, other.met
        super().join(other)

    def issue(self, pc: int, code: Decoded, following: int, access: Access | None) -> None:
        """See :class:`sim.analysis.paths.clock.Clock`."""
        time, slots, within = self.time + self.owed, self.counts.slots, self.within
        super().issue(pc, code, following, access)
        if within:
            # The common beginning is not attributed to instructions.
            self.own, self.past, self.met = Counter(), Counter(), Counter()
            return
        waited = self.time + self.owed - time - (0 if self._strict else self.counts.slots - slots)
        if waited:
            self.own[pc] += waited

    @property
    def chain_length(self) -> int:
        """The length of the chain that this warp ends, as the bound counts it."""
        return self.span if self._strict else self.idle

    @staticmethod
    def meet(clocks: Iterable[Clock], active: int | None) -> None:
        """See :class:`sim.analysis.paths.clock.Clock`: all warps continue the longest chain."""
        lined = [each for each in clocks if isinstance(each, AttributedPipeline)]
        chain = max(lined, key=lambda each: each.chain_length)
        table = Counter() if any(each.within for each in lined) else chain.met + chain.own
        Pipeline.meet(lined, active)
        for each in lined:
            each.past, each.own, each.met = each.past + each.own, Counter(), table


@dataclass(frozen=True)
class CostByInstruction:
    """The cost of each instruction by pc, for the bound by ``method``; ``rest``: the remaining parts by name.

    The three tables and ``rest`` add up to the bound. A part of ``rest`` is negative if cycles that are a wait on one
    path and a slot on another were counted once. ``ways``: how often each jump continues at each place, in all warps.
    """

    method: str
    cycles: int
    instructions: Mapping[int, int]
    nops: Mapping[int, int]
    waits: Mapping[int, int]
    rest: Mapping[str, int]
    ways: Mapping[tuple[int, int], int] = field(default_factory=dict)


def cost_of(composed: Composed, demand: Demand, policy: str) -> CostByInstruction:
    """Return the cost of each instruction in a bound.

    Instructions and NOPs are those of the most expensive walk (:mod:`sim.analysis.bound.compose.implicit`). Under
    strict turns only cycles of the chain count, all as waits.
    """
    lined = [each for each in demand.pipelines if isinstance(each, AttributedPipeline)]
    instructions: Counter[int] = Counter()
    nops: Counter[int] = Counter()
    ways: Counter[tuple[int, int]] = Counter()
    waits: Counter[int] = Counter()
    strict = policy not in POLICIES and not composed.parts["instructions"]
    for taken in demand.walks:
        stretches, edges = parts_of(taken)
        ways.update(edges)
        if strict:
            continue
        for (first, last), count in stretches.items():
            for pc in range(first, last + 4, 4):
                instructions[pc] += count
        for pc, after in nops_by_jump(demand.shared, taken):
            if after:
                nops[pc] += after
    if policy in POLICIES or strict:
        chain = max(lined, key=lambda each: each.chain_length)
        waits = chain.met + chain.own
    else:
        for each in lined:
            waits += each.past + each.own
    laid = {"instructions": instructions, "nops": nops, "waits": waits}
    rest = {name: cycles - sum(laid.get(name, {}).values()) for name, cycles in composed.parts.items()}
    return CostByInstruction(
        composed.method, composed.cycles, instructions, nops, waits,
        {name: each for name, each in rest.items() if each}, {edge: count for edge, count in ways.items() if count},
    )


class RunCosts:
    """A sink of cycles (:class:`sim.show.trace.cycles.Sink`) that counts the cost of each instruction in a run."""

    def __init__(self, config: SmConfig) -> None:
        self._warps = config.warps
        self._profile = Profile(config)

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._profile.begin()
        self._last = [NONE] * self._warps
        self._ways: Counter[tuple[int, int]] = Counter()

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        # The profile counts the measured region only: make the whole run that region.
        whole = [dataclasses.replace(cycles, events=cycles.events.copy()) for cycles in partitions]
        for cycles in whole:
            cycles.events["region"] = 1
            self._count_ways(cycles)
        self._profile.take(whole)

    def _count_ways(self, cycles: Cycles) -> None:
        """Count for each two instructions how often a warp of the partition issues one after the other."""
        for warp in cycles.warps:
            pcs = cycles.pc[(cycles.events["selected"] == warp) & (cycles.pc != NONE)]
            before = np.concatenate([[self._last[warp]], pcs[:-1]]) if len(pcs) else pcs
            pairs, counts = np.unique(np.stack([before, pcs], axis=1), axis=0, return_counts=True)
            for (first, following), count in zip(pairs.tolist(), counts.tolist(), strict=True):
                if first != NONE:
                    self._ways[first, following] += count
            if len(pcs):
                self._last[warp] = int(pcs[-1])

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._profile.finish()

    def costs(self, cycles: int) -> CostByInstruction:
        """Return the cost of each instruction in the run, which took ``cycles``."""
        tables: dict[str, Counter[int]] = {"issued": Counter(), "nop": Counter(), "wait": Counter()}
        for cell in self._profile.cells():
            if cell.pc != NONE:
                kind = cell.use if cell.use == "issued" else "nop" if cell.use.startswith("nop") else "wait"
                tables[kind][cell.pc] += cell.cycles
        jumps = {pc for pc, following in self._ways if following != pc + 4}
        rest = cycles - sum(each.total() for each in tables.values())
        return CostByInstruction(
            "exact", cycles, tables["issued"], tables["nop"], tables["wait"], {"launch": rest} if rest else {},
            {edge: count for edge, count in self._ways.items() if edge[0] in jumps},
        )
