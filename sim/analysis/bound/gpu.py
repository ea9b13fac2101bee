"""The longest time of a program on several SMs, for all inputs (docs/wcet.md, "Several SMs")."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import Dispatch, GpuConfig

from ...machine.golden.gpu import GpuIss
from ...machine.memory.names import SEPARATING_MODELS
from ...predict.gpu.predictor import predict_gpu
from ...predict.predictor import refuse
from ...program.kernels import Launch
from ...run.runner import job_of
from ...run.types import Job, RunRequest, unpack_memory
from ..code.costs import Costs
from ..code.dependence import InputDependences, dependences_of_gpu
from ..code.inputs import Inputs
from ..code.program import AnalyzedProgram
from ..code.reads import RangeReads, require_read
from ..code.refusals import INSTRUCTION_LIMIT, RefusedError, refuse_end, refuse_policy
from ..paths.clock import Clock
from ..paths.explore import ClockMaker, Exploration
from ..paths.facts import FactMonitor, Facts
from ..paths.several_sms import explore_sms
from .assumptions import UserStatements
from .bound import NO_STATEMENTS, Bound, Composer, CycleUses, composers
from .by_line import AttributedPipeline
from .compose.parts import Composed
from .compose.work_conserving import FETCH, Demand, strict_turns
from .counts import SharedState
from .memory_bound import MemoryBound, memory_bound_of_sm
from .pipeline import Pipeline

__all__ = ["contradicted_on_gpu", "longest_time_of_gpu"]

#: Cycles from the last access of the last SM to the first selection after a barrier between SMs, and to the end of the
#: run after the end of the last SM.
_BETWEEN_SMS = 8


@dataclass(frozen=True)
class _Analysis:
    """The analysis of one program on one GPU."""

    gpu: GpuConfig
    request: RunRequest
    job: Job
    inputs: Inputs
    stated: UserStatements
    progress: Callable[[str], None]

    def tracked(self) -> InputDependences:
        """Find the instructions that depend on the inputs; refuse a program if every run of it fails."""
        self.progress("dependences on the inputs")
        tracked = dependences_of_gpu(self.gpu.configs, self.job, self.inputs, INSTRUCTION_LIMIT)
        if not tracked.found:
            refuse_end(tracked.ended)
            require_read(tracked.reads.unread, tracked.reads)
        return tracked

    def exact(self) -> Bound | None:
        """Return the time of the only schedule; None if races might change the values that loads return."""
        self.progress("predict")
        uses = [CycleUses(config) for config in self.gpu.configs]
        prediction = predict_gpu(self.gpu, self.request, watchers=uses)
        result = prediction.result
        if result.status != "ended":
            raise RefusedError(f"the program does not end by itself: {result.status}")
        if prediction.stepped is not None:
            return None
        cycles = result.total_cycles
        return Bound(cycles=cycles, exact=True, parts=uses[0].parts(cycles), dependences=())

    def explored(self, memory: MemoryBound, *, strict: bool) -> tuple[list[Exploration], list[list[SharedState]]]:
        """Explore all paths until the lines that each data cache may replace are stable.

        Returns the exploration of each SM, and the shared state of each of its parts.
        """
        gpu, facts = self.gpu, self.stated.facts
        gone: list[frozenset[int] | None] = [frozenset() if gpu.sm.dcache_bytes else None] * gpu.sms
        while True:
            self.progress("all paths")
            counted = _Counted(gpu.configs, memory, gone, strict)
            explored = explore_sms(
                gpu.configs, self.job, self.inputs, counted.begin, INSTRUCTION_LIMIT, facts, counted.restart)
            found = [_pushed_out(each) for each in counted.parts]
            if all(old is None or (new is not None and new <= old) for old, new in zip(gone, found, strict=True)):
                return explored, counted.parts
            gone = [
                None if old is None or new is None else old | new for old, new in zip(gone, found, strict=True)
            ]


class _Counted:
    """Makes the clocks of all warps, and keeps the shared state of each part of each SM's run."""

    def __init__(
        self, configs: Sequence[SmConfig], memory: MemoryBound, gone: Sequence[frozenset[int] | None], strict: bool
    ) -> None:
        self._configs, self._memory, self._gone, self._strict = configs, memory, gone, strict
        self.parts: list[list[SharedState]] = []
        self.restart()

    def restart(self) -> None:
        """Count anew."""
        self.parts = [[] for _ in self._configs]

    def begin(self, number: int) -> ClockMaker:
        """Return the function that begins a part of the run of an SM."""
        config = self._configs[number]

        def part(program: AnalyzedProgram) -> Callable[[int], Clock]:
            shared = SharedState(config, program, Costs(config), self._memory, self._gone[number])
            self.parts[number].append(shared)
            return lambda warp: AttributedPipeline(shared, warp, strict=self._strict)

        return part


def _pushed_out(parts: Sequence[SharedState]) -> frozenset[int] | None:
    """Return the lines that the data cache of an SM may replace; None if any. It is empty where a part begins."""
    found: frozenset[int] = frozenset()
    for each in parts:
        lines = each.pushed_out()
        if lines is None:
            return None
        found |= lines
    return found


@dataclass(frozen=True)
class _Part:
    """A part of the run of an SM, from one barrier between SMs to the next: the sum of those between its fences."""

    method: str
    cycles: int
    parts: Counter[str]


def longest_time_of_gpu(
    gpu: GpuConfig, request: RunRequest, launch: Launch, stated: UserStatements = NO_STATEMENTS, *,
    compose: bool = False, progress: Callable[[str], None] = lambda text: None,
) -> Bound:
    """Return the bound of a program on all SMs of ``gpu``; see :func:`.bound.longest_time`.

    Raises
    ------
    RefusedError
        If there is no bound, with the reason.
    CannotPredictError
        If the machine cannot be predicted.
    """
    config = gpu.sm_of(0)
    if gpu.dispatch is not Dispatch.NONE:
        raise RefusedError(f"no bound with dispatch={gpu.dispatch}: which warps get a block depends on the cycles: use "
                           "dispatch=none")
    refuse(config, request.policy)
    refuse_policy(request.policy)
    inputs = Inputs(launch, stated.ranges)
    if inputs.late:
        raise RefusedError(f"no bound with several SMs for the range of the variable {inputs.late[0].name}: give it to "
                           "a buffer or to the argument")
    request = dataclasses.replace(request, launch=inputs.filled(inputs.own))
    analysis = _Analysis(gpu, request, job_of(config, request), inputs, stated, progress)
    tracked = analysis.tracked()
    details: dict[str, Any] = {
        "inputs": inputs.said, "learns": config.learns, "given": stated.texts, "interconnect": gpu.interconnect,
    }
    exact = None
    if not tracked.found and stated.memory_latency is None and request.memory in SEPARATING_MODELS:
        exact = analysis.exact()
    if exact is not None and not compose:
        return dataclasses.replace(exact, **details)
    bounds, details["loops"], details["sms"], reads = _composed(analysis)
    require_read([each for each in reads.unread if each in tracked.reads.unread], tracked.reads)
    details |= {"composed": bounds, **stated.with_facts}
    if exact is not None:
        return dataclasses.replace(exact, **details | {"sms": ()})
    best = min(bounds, key=lambda each: each.cycles)
    return Bound(cycles=best.cycles, exact=False, parts=dict(best.parts), dependences=tracked.found, **details)


def _composed(analysis: _Analysis) -> tuple[list[Composed], dict[int, int], list[int], RangeReads]:
    """Return the bound of each way of composing, the passes of each loop, the bound of each SM, and what is read."""
    gpu, stated = analysis.gpu, analysis.stated
    config = gpu.sm_of(0)
    if config.schedulers > 1:
        raise RefusedError("no bound for several SMs with several schedulers each: only one of the two is analysed")
    if stated.memory_latency is not None:
        raise RefusedError("no bound for several SMs with --memory-bound: a memory of which no more is known does not "
                           "separate them")
    memory = memory_bound_of_sm(gpu, analysis.request)
    ways = composers(config, analysis.request.policy, None, published=False)
    explored, shared = analysis.explored(memory, strict=strict_turns in ways)
    loops: dict[int, int] = {}
    for each in (part for parts in shared for part in parts):
        for pc, count in each.loops.items():
            loops[pc] = max(count, loops.get(pc, 0))
    facts = stated.facts
    if facts is not None and facts.used:
        analysis.progress("flow facts")
        contradiction = contradicted_on_gpu(gpu, analysis.request, facts)
        if contradiction is not None:
            raise RefusedError(*contradiction)
        loops |= {pc: min(loops[pc], fact.passes) for pc, fact in facts.used.items() if pc in loops and fact.most}
    analysis.progress("compose")
    demands = [_demands(each, parts) for each, parts in zip(explored, shared, strict=True)]
    meetings = [each.meetings for each in explored]
    bounds, each_sm = [], []
    for way in ways:
        sms = [_stretches(way, mine, memory, at) for mine, at in zip(demands, meetings, strict=True)]
        longest = [max(each, key=lambda stretch: stretch.cycles) for each in zip(*sms, strict=True)]
        total: Counter[str] = Counter()
        for stretch in longest:
            total.update(stretch.parts)
        bounds.append(Composed(longest[0].method, sum(each.cycles for each in longest), dict(total)))
        each_sm.append([sum(each.cycles for each in stretches) for stretches in sms])
    alone = [] if any(meetings) else [min(each) for each in zip(*each_sm, strict=True)]
    return bounds, loops, alone, explored[0].reads


def _demands(explored: Exploration, shared: Sequence[SharedState]) -> list[Demand]:
    """Return the demand of each part of the run of an SM."""
    found = []
    for clocks, state in zip([*explored.parts, explored.clocks], shared, strict=True):
        found.append(Demand.of(state.config, [each for each in clocks if isinstance(each, Pipeline)], state))
    return found


def _stretches(way: Composer, demands: Sequence[Demand], memory: MemoryBound, meetings: Sequence[int]) -> list[_Part]:
    """Compose a bound of each stretch between two barriers of the SMs; ``meetings``: the parts that end at one."""
    stretches, cycles, parts = [], 0, Counter[str]()
    for number, demand in enumerate(demands):
        composed = way(demand, memory)
        late = _late_fetches(demands, demand, memory) if number else 0
        cycles += composed.cycles + _BETWEEN_SMS + late
        parts.update(composed.parts)
        parts.update({"icache": late, "barriers": _BETWEEN_SMS})
        if number in meetings or number == len(demands) - 1:
            stretches.append(_Part(composed.method, cycles, parts))
            cycles, parts = 0, Counter()
    return stretches


def _late_fetches(demands: Sequence[Demand], demand: Demand, memory: MemoryBound) -> int:
    """Return the cycles that fetches on wrong paths may cost that were under way when a part began.

    They occupy MSHRs. If not all code fits into the I-cache, each of their lines may evict one that is needed again.
    """
    config = demand.config
    one = FETCH + memory.base + (memory.service + 1) * config.fetch_requests
    lines = {line for each in demands for line in each.shared.all_code}
    return one if Demand.fits(config, lines) else one * (1 + config.fetch_requests)


def contradicted_on_gpu(gpu: GpuConfig, request: RunRequest, facts: Facts) -> tuple[str, int] | None:
    """Run the golden model of all SMs, and return how and where it contradicts ``facts``; None if it does not."""
    job = job_of(gpu.sm_of(0), request)
    golden = GpuIss(gpu.configs, unpack_memory(gpu.sm_of(0), job.pages))
    golden.launch(job.start_pc, job.arg)
    monitors = []
    for sm in golden.sms:
        sm.recorder = monitor = FactMonitor(facts, sm.config.warps)
        monitors.append(monitor)
    golden.run(INSTRUCTION_LIMIT)
    for monitor in monitors:
        if monitor.contradiction is not None:
            return monitor.contradiction
    return None
