"""The longest time of a program on a machine, for all inputs: exact where time does not depend on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from metronome.hdl.config import Channels, SmConfig
from metronome.hdl.layouts.counters import StallReason

from ...machine.engines import CannotPredictError
from ...machine.events import NONE
from ...machine.golden import EndStatus
from ...predict.model.policies import NAMES
from ...predict.predictor import predict, refuse
from ...program.kernels import Launch
from ...run.runner import job_of
from ...run.types import Job, RunRequest, unpack_memory
from ...show.trace.cycles import CycleStream
from ..code.costs import Costs
from ..code.dependence import Dependence, Kind, dependences
from ..code.inputs import Inputs, Range
from ..code.program import Program, RefusedError
from ..code.reads import Reads, require_read
from ..paths.explore import explore
from ..paths.facts import Facts, Monitor
from .assumptions import Assumption, assumptions_of
from .by_line import Laid, Lined, Run, lay
from .compose.parts import Composed
from .compose.published import multi_phase, segments, segments_at_rate, segments_with_misses
from .compose.work_conserving import POLICIES, Demand, implicit_paths, one_by_one, strict_turns, work_conserving
from .counts import Shared
from .memory_bound import MemoryBound, memory_bound
from .pipeline import Pipeline
from .prefix import NOTHING, Prefix, common_prefix

__all__ = ["Bound", "contradicted", "longest_time"]

#: A way of composing.
Composer: TypeAlias = Callable[[Demand, MemoryBound], Composed]
#: Memory models whose time for given requests is the same in every run.
_EXACT_MEMORY = ("fixed", "tdm")
#: Instructions that are looked at before an analysis is given up.
_LIMIT = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Bound:
    """At most ``cycles`` from the launch to the end, whatever the inputs.

    ``exact``: every run takes as long. ``parts``: what the cycles are made of, by name. ``composed``: bounds by each
    way of composing that applies; without them the time is exact. ``dependences``: the instructions whose effect on
    time depends on the inputs. ``loops``: how often a loop is gone through at most, entered once, by its header's pc.
    ``origins``: of those that a fact of the user ends, where that comes from. ``given``: what is taken from the user.
    ``laid``: what it is made of by instruction. ``inputs``: for which it holds, in words. ``lost``: the ranges of what
    the start-up code stores to, so that the hardware alone cannot have such inputs.
    """

    cycles: int
    exact: bool
    parts: dict[str, int]
    dependences: Sequence[Dependence]
    composed: Sequence[Composed] = ()
    loops: dict[int, int] = field(default_factory=dict)
    origins: dict[int, str] = field(default_factory=dict)
    given: Sequence[str] = ()
    #: The user says how long memory takes.
    memory_told: bool = False
    laid: Laid | None = None
    inputs: str = ""
    lost: Sequence[Range] = ()

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the bound rests on."""
        return assumptions_of(exact=self.exact, given=self.given, memory_told=self.memory_told)


class _Uses:
    """A watcher that counts what each cycle of a run was used for."""

    def __init__(self, config: SmConfig) -> None:
        self._run = Run(config)
        self._stream = CycleStream(config, [self._run])
        self.begin()

    def begin(self) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self._stream.begin()
        self.instructions = self.nops = 0
        self._stalls = np.zeros(len(StallReason), np.int64)

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.run.types.Watcher`."""
        self._stream.take(events)
        selected, nop = events["selected"] != NONE, events["nop"] != 0
        self.instructions += int((selected & ~nop).sum())
        self.nops += int((selected & nop).sum())
        self._stalls += np.bincount(events["stall"][~selected], minlength=len(self._stalls))

    def laid(self, cycles: int) -> Laid:
        """By instruction."""
        self._stream.finish()
        return self._run.laid(cycles)

    def parts(self, cycles: int) -> dict[str, int]:
        """By the names of docs/wcet.md; what is left is the launch and the end."""
        stalls = {reason: int(self._stalls[reason.value]) for reason in StallReason}
        parts = {
            "instructions": self.instructions, "nops": self.nops,
            "waits": stalls[StallReason.DATA] + stalls[StallReason.CONTROL] + stalls[StallReason.POLICY],
            "writeback": stalls[StallReason.WRITEBACK], "units": stalls[StallReason.UNIT],
            "icache": stalls[StallReason.ICACHE], "memory": stalls[StallReason.LOAD] + stalls[StallReason.DRAIN],
            "barriers": stalls[StallReason.BARRIER],
        }
        return parts | {"launch": cycles - sum(parts.values())}


def _given(ranges: Sequence[Range], memory_latency: int | None) -> list[str]:
    """The user's own statements: nobody checks them."""
    given = [f"the inputs are in the range {each.text}" for each in ranges]
    given += [
        f"the program reads {each.name} wherever its value counts (there is no debug information of it)"
        for each in ranges if each.untold
    ]
    if memory_latency is not None:
        given.append(f"memory answers every access within {memory_latency} cycles (--memory-bound)")
    return given


def longest_time(
    config: SmConfig, request: RunRequest, launch: Launch, *, ranges: Sequence[Range] = (),
    facts: Facts | None = None, memory_latency: int | None = None, compose: bool = False,
    miss_rate: float | None = None, progress: Callable[[str], None] = lambda text: None,
) -> Bound:
    """The bound of a program.

    Parameters
    ----------
    ranges
        What is known of its inputs.
    facts
        What is known of its flow. It is asked only where the paths do not tell it.
    memory_latency
        The most cycles from the acceptance of a request to its answer, of a memory that has no bound of its own.
    compose
        Compose bounds even where the time is exact.
    miss_rate
        With ordered channels, the part of the list's loads that misses: the published formulas are composed with it.
    progress
        Called with the name of each step.

    Raises
    ------
    RefusedError
        If there is no bound, with the reason; RangeError for a range of what the program does not read; FactError for a
        flow fact of nothing; CannotPredictError for a machine that is not predictable.
    """
    refuse(config, request.policy)
    if request.policy not in NAMES:
        raise CannotPredictError(f"{request.policy} cannot be bounded: sim/analysis/bound does not know whom it delays")
    inputs = Inputs(launch, ranges)
    request = dataclasses.replace(request, launch=inputs.filled(inputs.own))
    job = job_of(config, request)
    if facts is not None:
        program = Program(unpack_memory(config, job.pages))
        facts.require_places(program, [launch.entry, *(entry for entry, _, _ in launch.image.functions)])
    progress("what depends on the inputs")
    followed = dependences(job, inputs, _LIMIT)
    found, ended = followed.found, followed.ended
    if ended.fault is not None and not found:
        cause = ended.fault.cause.name.lower().replace("_", " ")
        raise RefusedError(f"every run faults: {cause} of warp {ended.fault.warp}", ended.fault.pc)
    if ended.status is not EndStatus.ENDED and not found:
        raise RefusedError(f"no run ends by itself: {ended.status} after {ended.executed} instructions")
    if not found:
        # All runs execute the same.
        require_read(followed.reads.unread, followed.reads)
    said: dict[str, Any] = {
        "inputs": inputs.said, "lost": followed.reads.lost, "memory_told": memory_latency is not None,
    }
    exact = None
    if not found and memory_latency is None and request.memory in _EXACT_MEMORY:
        progress("predict")
        exact = _exact(config, request)
    given = _given(ranges, memory_latency)
    if exact is not None and not compose:
        return dataclasses.replace(exact, given=given, **said)
    memory = memory_bound(config, request, memory_latency)
    prefix = NOTHING
    # What is fetched is fetched before the instruction that tells of it is issued.
    begins = found and not any(each.kind is Kind.CODE for each in found)
    if begins and memory_latency is None and request.memory in _EXACT_MEMORY:
        progress("predict")
        prefix = common_prefix(config, request, {each.pc for each in found})
    ways = _composers(config, request.policy, miss_rate if exact is not None else None)
    composed, loops, laid, reads = _composed(config, request, job, inputs, memory, prefix, facts, ways, progress)
    require_read([each for each in reads.unread if each in followed.reads.unread], followed.reads)
    used = facts.used if facts is not None else {}
    given += [f"flow fact: {each.text}" for each in dict.fromkeys(used.values())]
    origins = {pc: told.origin for pc, told in used.items()}
    if exact is not None:
        return dataclasses.replace(exact, composed=composed, loops=loops, origins=origins, given=given, **said)
    best = min((each for each in composed if each.holds), key=lambda each: each.cycles)
    return Bound(
        cycles=best.cycles, exact=False, parts=dict(best.parts), dependences=found, composed=composed, loops=loops,
        origins=origins, given=given, laid=laid, **said,
    )


def contradicted(config: SmConfig, request: RunRequest, facts: Facts) -> tuple[str, int] | None:
    """What a run of the golden model does against ``facts``, and where; None if nothing."""
    job = job_of(config, request)
    iss = job.golden_model(unpack_memory(config, job.pages))
    monitor = iss.recorder = Monitor(facts, config.warps)
    iss.run(_LIMIT)
    return monitor.contradiction


def _exact(config: SmConfig, request: RunRequest) -> Bound | None:
    """The time of the only schedule there is; None if that could not be known beforehand."""
    uses = _Uses(config)
    prediction = predict(config, request, watcher=uses)
    result = prediction.result
    if result.status != "ended":
        raise RefusedError(f"the program does not end by itself: {result.status}")
    if prediction.stepped is not None:
        return None
    cycles = result.total_cycles
    return Bound(cycles=cycles, exact=True, parts=uses.parts(cycles), dependences=(), laid=uses.laid(cycles))


def _composed(
    config: SmConfig, request: RunRequest, job: Job, inputs: Inputs, memory: MemoryBound, prefix: Prefix,
    facts: Facts | None, ways: Sequence[Composer], progress: Callable[[str], None],
) -> tuple[list[Composed], dict[int, int], Laid, Reads]:
    kept: list[Shared] = []
    # First as if each line stayed in the data cache; again if another may push some of them out.
    gone: frozenset[int] | None = frozenset() if config.dcache_bytes else None

    def begin(program: Program) -> Callable[[int], Pipeline]:
        kept.append(Shared(config, program, Costs(config), memory, gone, prefix))
        return lambda warp: Lined(kept[-1], warp, strict=strict_turns in ways)

    while True:
        progress("all paths")
        explored = explore(
            config, unpack_memory(config, job.pages), job.start_pc, job.arg, inputs, begin, _LIMIT, facts
        )
        found = kept[-1].pushed_out()
        if kept[-1].prefix_lost:
            # Where every run begins alike, the analysis does not know which way: nothing is taken from there.
            prefix = NOTHING
            continue
        if gone is None or (found is not None and found <= gone):
            break
        gone = None if found is None else gone | found
    loops = dict(kept[-1].loops)
    if facts is not None and facts.used:
        progress("flow facts")
        contradiction = contradicted(config, request, facts)
        if contradiction is not None:
            raise RefusedError(*contradiction)
        # A path that a fact has ended was counted until there.
        loops |= {pc: min(loops[pc], told.passes) for pc, told in facts.used.items() if pc in loops and told.most}
    progress("compose")
    pipelines = [each for each in explored.clocks if isinstance(each, Pipeline)]
    demand = Demand.of(config, pipelines, kept[-1])
    composed = [way(demand, memory) for way in ways]
    # By the one whose slots are those of a walk, if it is there.
    laid = lay(composed[min(1, len(composed) - 1)], demand, request.policy)
    return composed, loops, laid, explored.reads


def _composers(config: SmConfig, policy: str, miss_rate: float | None) -> list[Composer]:
    """The ways of composing for a machine and policy, and with ordered channels for the rate at which loads miss."""
    if config.ordered and miss_rate is not None:
        # Ours is the exact time, which the published formulas are compared with.
        return [segments, segments_at_rate(miss_rate)]
    if config.channels is not Channels.NONE:
        raise RefusedError(
            f"no bound with channels={config.channels}: bounds are composed for lookups in order of issue"
        )
    if policy in POLICIES:
        return [work_conserving, implicit_paths, multi_phase, segments, segments_with_misses]
    if policy == "prr":
        return [one_by_one]
    if policy == "srr":
        return [strict_turns]
    if policy == "variable_rate_strict":
        raise RefusedError(f"no bound for {policy}: the slots of a warp that is not eligible stay empty, and no "
                           "argument of ours counts them: variable_rate gives them away, and has a bound")
    if policy == "ccws":
        raise RefusedError(f"no bound for {policy}: a warp that it holds back is eligible in cycles in which nobody is "
                           "selected, and how many there are depends on which lines the data cache has replaced")
    raise RefusedError(f"no bound for {policy}: it is not shown that it selects somebody whenever somebody is eligible")
