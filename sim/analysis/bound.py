"""The longest time of a program on a machine, for all inputs: exact where time does not depend on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.sim.iss import EndStatus
from metronome.sim.kernel import Launch
from metronome.sim.predict.records import NONE
from metronome.sim.prediction.predictor import predict, refuse
from metronome.sim.runner import job_of
from metronome.sim.runner_types import Job, RunRequest, unpack_memory

from .assumptions import Assumption, assumptions_of
from .compose.parts import Composed
from .compose.published import multi_phase, segments, segments_with_misses
from .compose.work_conserving import POLICIES, Demand, implicit_paths, one_by_one, strict_turns, work_conserving
from .costs import Costs
from .counts import Shared
from .dependence import Dependence, dependences
from .explore import explore
from .memory_bound import MemoryBound, memory_bound
from .pipeline import Pipeline
from .program import Program, RefusedError

__all__ = ["Bound", "inputs_of", "longest_time"]

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
    """

    cycles: int
    exact: bool
    parts: dict[str, int]
    dependences: Sequence[Dependence]
    composed: Sequence[Composed] = ()
    loops: dict[int, int] = field(default_factory=dict)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the bound rests on."""
        return assumptions_of(exact=self.exact)


class _Uses:
    """A watcher that counts what each cycle of a run was used for."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """See :class:`sim.runner_types.Watcher`."""
        self.instructions = self.nops = 0
        self._stalls = np.zeros(len(StallReason), np.int64)

    def take(self, events: np.ndarray) -> None:
        """See :class:`sim.runner_types.Watcher`."""
        selected, nop = events["selected"] != NONE, events["nop"] != 0
        self.instructions += int((selected & ~nop).sum())
        self.nops += int((selected & nop).sum())
        self._stalls += np.bincount(events["stall"][~selected], minlength=len(self._stalls))

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


def inputs_of(launch: Launch) -> dict[str, tuple[int, int]]:
    """What may hold anything, by name: [first, end) of each buffer and file. The arguments are known."""
    places = launch.buffers | launch.loads
    return {name: (address, address + len(data)) for name, (address, data) in places.items() if data}


def longest_time(
    config: SmConfig, request: RunRequest, launch: Launch, *, memory_latency: int | None = None,
    compose: bool = False, progress: Callable[[str], None] = lambda text: None,
) -> Bound:
    """The bound of a program.

    Parameters
    ----------
    memory_latency
        The most cycles from the acceptance of a request to its answer, of a memory that has no bound of its own.
    compose
        Compose bounds even where the time is exact.
    progress
        Called with the name of each step.

    Raises
    ------
    RefusedError
        If there is no bound, with the reason; CannotPredictError for a machine that is not predictable.
    """
    refuse(config, request.policy)
    job = job_of(config, request)
    areas = inputs_of(launch)
    progress("what depends on the inputs")
    found, ended = dependences(
        config, unpack_memory(config, job.pages), job.start_pc, job.arg, areas.values(), _LIMIT
    )
    if ended is not EndStatus.ENDED and not found:
        raise RefusedError(f"the program does not end by itself on the golden model: {ended}")
    exact = None
    if not found and memory_latency is None and request.memory in _EXACT_MEMORY:
        progress("predict")
        exact = _exact(config, request)
    if exact is not None and not compose:
        return exact
    memory = memory_bound(config, request, memory_latency)
    composed, loops = _composed(config, request, job, areas.values(), memory, progress)
    if exact is not None:
        return Bound(
            cycles=exact.cycles, exact=True, parts=exact.parts, dependences=(), composed=composed, loops=loops
        )
    best = min((each for each in composed if each.holds), key=lambda each: each.cycles)
    return Bound(
        cycles=best.cycles, exact=False, parts=dict(best.parts), dependences=found, composed=composed, loops=loops
    )


def _exact(config: SmConfig, request: RunRequest) -> Bound | None:
    """The time of the only schedule there is; None if that could not be known beforehand."""
    uses = _Uses()
    prediction = predict(config, request, watcher=uses)
    result = prediction.result
    if result.status != "ended":
        raise RefusedError(f"the program does not end by itself: {result.status}")
    if prediction.stepped is not None:
        return None
    return Bound(cycles=result.total_cycles, exact=True, parts=uses.parts(result.total_cycles), dependences=())


def _composed(
    config: SmConfig, request: RunRequest, job: Job, areas: Any, memory: MemoryBound, progress: Callable[[str], None]
) -> tuple[list[Composed], dict[int, int]]:
    ways = _composers(request.policy)
    progress("all paths")
    kept: list[Shared] = []

    def begin(program: Program) -> Callable[[], Pipeline]:
        kept.append(Shared(config, program, Costs(config)))
        return lambda: Pipeline(kept[-1], strict=strict_turns in ways)

    explored = explore(config, unpack_memory(config, job.pages), job.start_pc, job.arg, areas, begin, _LIMIT)
    progress("compose")
    pipelines = [each for each in explored.clocks if isinstance(each, Pipeline)]
    demand = Demand.of(config, pipelines, kept[-1])
    return [way(demand, memory) for way in ways], dict(kept[-1].loops)


def _composers(policy: str) -> list[Callable[[Demand, MemoryBound], Composed]]:
    """The ways of composing that hold for a policy."""
    if policy in POLICIES:
        return [work_conserving, implicit_paths, multi_phase, segments, segments_with_misses]
    if policy == "prr":
        return [one_by_one]
    if policy == "srr":
        return [strict_turns]
    if policy == "variable_rate_strict":
        raise RefusedError(f"no bound for {policy}: the slots of a warp that is not eligible stay empty, and no "
                           "argument of ours counts them: variable_rate gives them away, and has a bound")
    raise RefusedError(f"no bound for {policy}: it is not shown that it selects somebody whenever somebody is eligible")
