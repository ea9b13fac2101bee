"""The longest time of a program on a machine, for all inputs: exact if time does not depend on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from metronome.hdl.config import Channels, SmConfig
from metronome.hdl.gpu.config import Interconnect
from metronome.hdl.layouts.counters import StallReason

from ...machine.events import NONE
from ...predict.predictor import predict, refuse
from ...program.kernels import Launch
from ...run.runner import job_of
from ...run.types import Job, RunRequest, unpack_memory
from ...show.trace.cycles import CycleStream
from ..code.costs import Costs
from ..code.dependence import Dependence, DependenceKind, InputDependences, dependences
from ..code.inputs import Inputs, Range
from ..code.program import AnalyzedProgram
from ..code.reads import RangeReads, require_read
from ..code.refusals import INSTRUCTION_LIMIT, NOT_CONSERVING, RefusedError, refuse_end, refuse_policy, refuse_turns
from ..paths.explore import Exploration, explore
from ..paths.facts import FactMonitor, Facts
from .assumptions import Assumption, UserStatements, assumptions_of
from .by_line import AttributedPipeline, CostByInstruction, RunCosts, cost_of
from .compose.parts import Composed
from .compose.published import multi_phase, segments, segments_at_rate, segments_with_misses
from .compose.work_conserving import POLICIES, Demand, implicit_paths, one_by_one, strict_turns, work_conserving
from .counts import SharedState
from .memory_bound import MemoryBound, memory_bound
from .pipeline import Pipeline
from .prefix import NOTHING, Prefix, common_prefix

__all__ = ["NO_STATEMENTS", "Bound", "Composer", "CycleUses", "composers", "contradicted", "longest_time"]

#: A function that composes a bound.
Composer: TypeAlias = Callable[[Demand, MemoryBound], Composed]
NO_STATEMENTS = UserStatements()
#: Memory models whose latencies depend only on the requests.
_EXACT_MEMORY = ("fixed", "tdm")


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The most ``cycles`` from the launch to the end, for all inputs.

    - ``exact``: whether every run takes exactly this time. ``parts``: the cycles by cause.
    - ``composed``: the bound of each composition that applies; empty for an exact time unless requested.
    - ``dependences``: the instructions whose effect on time depends on the inputs.
    - ``loops``: the most passes for each entry of a loop, by the pc of its header.
    - ``origins``: the origin of the flow fact that bounds a loop, if one does, by the same pc.
    - ``given``: the user's statements on which the bound rests.
    - ``memory_given``: whether the user states the latency of memory. ``learns``: see :attr:`SmConfig.learns`.
    - ``by_instruction``: the cost of each instruction.
    - ``inputs``: the inputs for which the bound holds, as text.
    - ``lost``: the ranges of variables that the start-up code overwrites, so the hardware cannot run with such inputs.
    - ``sms``: the bound of each SM of several, whatever the others execute; empty if they wait for each other, and for
      an exact time. ``interconnect``: that of several SMs; None with one.
    """

    cycles: int
    exact: bool
    parts: dict[str, int]
    dependences: Sequence[Dependence]
    composed: Sequence[Composed] = ()
    loops: dict[int, int] = field(default_factory=dict)
    origins: dict[int, str] = field(default_factory=dict)
    given: Sequence[str] = ()
    memory_given: bool = False
    learns: bool = False
    by_instruction: CostByInstruction | None = None
    inputs: str = ""
    lost: Sequence[Range] = ()
    sms: Sequence[int] = ()
    interconnect: Interconnect | None = None

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The assumptions of the bound."""
        return assumptions_of(
            exact=self.exact, given=self.given, memory_given=self.memory_given, learns=self.learns,
            interconnect=self.interconnect,
        )


class CycleUses:
    """A watcher that counts how each cycle of a run was used."""

    def __init__(self, config: SmConfig) -> None:
        self._schedulers = config.schedulers
        self._run = RunCosts(config)
        self._stream = CycleStream(config, [self._run])
        self.begin()

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self._stream.begin()
        self.instructions = self.nops = 0
        self._stalls = np.zeros(len(StallReason), np.int64)

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        if self._schedulers == 1:
            self._stream.take(events)
        # A cycle in which a partition issues an instruction counts as one, whatever the others do.
        events = events.reshape(-1, self._schedulers)
        issues = ((events["selected"] != NONE) & (events["nop"] == 0)).any(axis=1)
        nops = (events["nop"] != 0).any(axis=1) & ~issues
        self.instructions += int(issues.sum())
        self.nops += int(nops.sum())
        self._stalls += np.bincount(events["stall"].min(axis=1)[~issues & ~nops], minlength=len(self._stalls))

    def costs(self, cycles: int) -> CostByInstruction | None:
        """Return the cost of each instruction."""
        if self._schedulers > 1:
            return None
        self._stream.finish()
        return self._run.costs(cycles)

    def parts(self, cycles: int) -> dict[str, int]:
        """Return the cycles by the names of docs/wcet.md; the rest is the launch and the end."""
        stalls = {reason: int(self._stalls[reason.value]) for reason in StallReason}
        parts = {
            "instructions": self.instructions, "nops": self.nops,
            "waits": stalls[StallReason.DATA] + stalls[StallReason.CONTROL] + stalls[StallReason.POLICY],
            "writeback": stalls[StallReason.WRITEBACK], "units": stalls[StallReason.UNIT],
            "icache": stalls[StallReason.ICACHE], "memory": stalls[StallReason.LOAD] + stalls[StallReason.DRAIN],
            "barriers": stalls[StallReason.BARRIER],
        }
        return parts | {"launch": cycles - sum(parts.values())}


@dataclass(frozen=True)
class _Composition:
    """The ``bounds`` of all compositions, and other results of the path analysis."""

    bounds: list[Composed]
    loops: dict[int, int]
    by_instruction: CostByInstruction
    reads: RangeReads


@dataclass(frozen=True)
class _Analysis:
    """The steps of the analysis of one program."""

    config: SmConfig
    request: RunRequest
    job: Job
    inputs: Inputs
    stated: UserStatements
    progress: Callable[[str], None]

    @property
    def predictable(self) -> bool:
        """Whether the latencies of memory are the same in every run with the same requests."""
        return self.stated.memory_latency is None and self.request.memory in _EXACT_MEMORY

    def tracked(self) -> InputDependences:
        """Find the instructions that depend on the inputs; refuse a program if every run of it fails."""
        launch, facts = self.inputs.launch, self.stated.facts
        if facts is not None:
            program = AnalyzedProgram(unpack_memory(self.config, self.job.pages))
            facts.require_places(program, [launch.entry, *(entry for entry, _, _ in launch.image.functions)])
        self.progress("dependences on the inputs")
        tracked = dependences(self.job, self.inputs, INSTRUCTION_LIMIT)
        if not tracked.found:
            # All runs execute the same instructions.
            refuse_end(tracked.ended)
            require_read(tracked.reads.unread, tracked.reads)
        return tracked

    def prefix(self, found: Sequence[Dependence]) -> Prefix:
        """Return the common beginning of all runs."""
        # Fetches run ahead of the first instruction that depends on the inputs, so code must not depend on them.
        # With several schedulers, the state after it would be that of each partition.
        changing = any(each.kind is DependenceKind.CODE for each in found)
        if self.config.schedulers > 1 or not found or not self.predictable or changing:
            return NOTHING
        self.progress("predict")
        return common_prefix(self.config, self.request, {each.pc for each in found})

    def compose(self, memory: MemoryBound, prefix: Prefix, ways: Sequence[Composer]) -> _Composition:
        """Explore all paths, and compose a bound in each of the ``ways``."""
        config, facts = self.config, self.stated.facts
        explored, shared = self._explored(memory, prefix, strict=strict_turns in ways)
        loops = dict(shared.loops)
        if facts is not None and facts.used:
            self.progress("flow facts")
            contradiction = contradicted(config, self.request, facts)
            if contradiction is not None:
                raise RefusedError(*contradiction)
            # The passes of a path were counted until a fact ended it.
            loops |= {pc: min(loops[pc], fact.passes) for pc, fact in facts.used.items() if pc in loops and fact.most}
        self.progress("compose")
        pipelines = [each for each in explored.clocks if isinstance(each, Pipeline)]
        demand = Demand.of(config, pipelines, shared)
        bounds = [way(demand, memory) for way in ways]
        # The second bound, if there is one, takes its issue slots from a walk.
        costs = cost_of(bounds[min(1, len(bounds) - 1)], demand, self.request.policy)
        return _Composition(bounds, loops, costs, explored.reads)

    def _explored(self, memory: MemoryBound, prefix: Prefix, *, strict: bool) -> tuple[Exploration, SharedState]:
        """Explore all paths until the set of lines that may be evicted from the data cache is stable."""
        config, job, facts = self.config, self.job, self.stated.facts
        # The first pass assumes that every line stays in the cache.
        gone: frozenset[int] | None = frozenset() if config.dcache_bytes else None
        kept: list[SharedState] = []

        def begin(program: AnalyzedProgram) -> Callable[[int], Pipeline]:
            kept.append(SharedState(config, program, Costs(config), memory, gone, prefix))
            return lambda warp: AttributedPipeline(kept[-1], warp, strict=strict)

        while True:
            self.progress("all paths")
            pages = unpack_memory(config, job.pages)
            explored = explore(config, pages, job.start_pc, job.arg, self.inputs, begin, INSTRUCTION_LIMIT, facts)
            found = kept[-1].pushed_out()
            if kept[-1].prefix_lost:
                # Paths fork inside the common beginning, so it is not used.
                prefix = NOTHING
                continue
            if gone is None or (found is not None and found <= gone):
                return explored, kept[-1]
            gone = None if found is None else gone | found


def longest_time(
    config: SmConfig, request: RunRequest, launch: Launch, stated: UserStatements = NO_STATEMENTS, *,
    compose: bool = False, miss_rate: float | None = None, progress: Callable[[str], None] = lambda text: None,
) -> Bound:
    """Return the bound of a program.

    Parameters
    ----------
    stated
        The user's statements about the program.
    compose
        Also compose bounds if the time is exact.
    miss_rate
        With ordered channels, the fraction of the listed loads that miss, for the published formulas.
    progress
        Called with the name of each step.

    Raises
    ------
    RefusedError
        If there is no bound, with the reason.
    RangeError
        If a range covers something that the program does not read.
    FactError
        If a flow fact matches nothing in the program.
    CannotPredictError
        If the machine cannot be predicted.
    """
    refuse(config, request.policy)
    refuse_policy(request.policy)
    inputs = Inputs(launch, stated.ranges)
    request = dataclasses.replace(request, launch=inputs.filled(inputs.own))
    analysis = _Analysis(config, request, job_of(config, request), inputs, stated, progress)
    tracked = analysis.tracked()
    found = tracked.found
    details: dict[str, Any] = {
        "inputs": inputs.said, "lost": tracked.reads.lost, "memory_given": stated.memory_latency is not None,
        "learns": config.learns,
    }
    exact = None
    if not found and analysis.predictable:
        progress("predict")
        exact = _exact(config, request)
    if exact is not None and not compose:
        return dataclasses.replace(exact, given=stated.texts, **details)
    refuse_turns(config)
    memory = memory_bound(config, request, stated.memory_latency)
    ways = composers(config, request.policy, miss_rate if exact is not None else None)
    result = analysis.compose(memory, analysis.prefix(found), ways)
    require_read([each for each in result.reads.unread if each in tracked.reads.unread], tracked.reads)
    details |= {"composed": result.bounds, "loops": result.loops, **stated.with_facts}
    if exact is not None:
        return dataclasses.replace(exact, **details)
    best = min((each for each in result.bounds if each.holds), key=lambda each: each.cycles)
    return Bound(
        cycles=best.cycles, exact=False, parts=dict(best.parts), dependences=found,
        by_instruction=result.by_instruction, **details,
    )


def contradicted(config: SmConfig, request: RunRequest, facts: Facts) -> tuple[str, int] | None:
    """Run the golden model, and return how and where it contradicts ``facts``; None if it does not."""
    job = job_of(config, request)
    iss = job.golden_model(unpack_memory(config, job.pages))
    monitor = iss.recorder = FactMonitor(facts, config.warps)
    iss.run(INSTRUCTION_LIMIT)
    return monitor.contradiction


def _exact(config: SmConfig, request: RunRequest) -> Bound | None:
    """Return the time of the only schedule; None if the order of the warps might change the values they load."""
    uses = CycleUses(config)
    prediction = predict(config, request, watcher=uses)
    result = prediction.result
    if result.status != "ended":
        raise RefusedError(f"the program does not end by itself: {result.status}")
    if prediction.stepped is not None:
        return None
    cycles = result.total_cycles
    return Bound(cycles=cycles, exact=True, parts=uses.parts(cycles), dependences=(), by_instruction=uses.costs(cycles))


def composers(config: SmConfig, policy: str, miss_rate: float | None, *, published: bool = True) -> list[Composer]:
    """Return the ways of composing that apply to a machine and policy, and to a miss rate with ordered channels.

    ``published``: with the formulas that do not bound this machine.
    """
    if config.ordered and miss_rate is not None:
        # Only published formulas, for comparison with the exact time.
        return [segments, segments_at_rate(miss_rate)]
    if config.channels is not Channels.NONE:
        raise RefusedError(
            f"no bound with channels={config.channels}: bounds are composed for lookups in order of issue"
        )
    if policy in POLICIES:
        formulas = [multi_phase, segments, segments_with_misses] if published and config.schedulers == 1 else []
        return [work_conserving, implicit_paths, *formulas]
    if policy == "prr":
        return [one_by_one]
    if policy == "srr" and config.schedulers > 1:
        raise RefusedError("no bound for srr with several schedulers: a warp's slots and its partition's turns may "
                           "fall together rarely, and this analysis does not count how often")
    if policy == "srr":
        return [strict_turns]
    if policy == "variable_rate_strict":
        raise RefusedError(f"no bound for {policy}: it leaves the slots of a warp that is not eligible empty, and "
                           "this analysis cannot count them; variable_rate gives them to other warps, and has a bound")
    if policy == "ccws":
        raise RefusedError(f"no bound for {policy}: it may select no warp although one that it holds back is "
                           "eligible, and the number of such cycles depends on the lines that the data cache has "
                           "replaced")
    raise RefusedError(NOT_CONSERVING.format(policy))
