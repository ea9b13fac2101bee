"""Abstract execution of all paths of all warps, with the cost counted along each path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from metronome.hdl.config import SmConfig

from ...machine.golden import Iss
from ...machine.memory.store import SparseMemory
from ..code.inputs import Inputs
from ..code.lanes import Lanes
from ..code.program import AnalyzedProgram
from ..code.reads import RangeReads
from ..code.refusals import RefusedError
from .clock import Clock
from .execution import Execution
from .fact_filter import FactFilter
from .facts import Facts
from .memory import Memory
from .path import Path
from .running import RunningWarp
from .warp import BarrierArrival, Fence, WarpEnd, WarpSpawn

__all__ = ["ClockMaker", "Exploration", "Explorer", "Known", "explore"]

#: Takes a program, and returns a function that makes a warp's clock from its number.
ClockMaker: TypeAlias = Callable[[AnalyzedProgram], Callable[[int], Clock]]


@dataclass(frozen=True)
class Exploration:
    """The result of an exploration.

    - ``clocks``: for each warp, the clock of its last path; None if the warp never starts.
    - ``parts``: in a GPU, the same of earlier parts of the run, each until nothing of the SM was under way.
      ``meetings``: the numbers of those that ended at a barrier between SMs.
    - ``steps``: the number of instructions analysed. ``sure``: whether every warp has a single path.
    - ``races``: words that one warp may store to while another accesses them.
    - ``reads``: the ranges that the program reads.
    """

    clocks: Sequence[Clock | None]
    steps: int
    sure: bool
    races: frozenset[int]
    reads: RangeReads
    parts: Sequence[Sequence[Clock | None]] = ()
    meetings: Sequence[int] = ()


@dataclass(frozen=True)
class Known:
    """The knowledge of a program that all SMs share. The exploration adds to ``races`` (:class:`.memory.Memory`)."""

    program: AnalyzedProgram
    races: set[int]
    facts: Facts | None
    reads: RangeReads


class Explorer:
    """Runs the warps of an SM one at a time, each until it waits for others."""

    def __init__(
        self, config: SmConfig, memory: SparseMemory, argument: int, begin: ClockMaker, limit: int, known: Known
    ) -> None:
        self._config, self._limit = config, limit
        self._iss = Iss(config, memory)
        self._iss.launch(0, argument)
        self._program = known.program
        self._facts = FactFilter(self._program, known.facts)
        self._begin, self._make_clock = begin, begin(self._program)
        self._memory = Memory(config, memory, self._iss.local, known.races, known.reads)
        self._ready: list[int] = []
        self._active: dict[int, RunningWarp] = {}
        self._ran: dict[int, RunningWarp] = {}
        self._clocks: list[Clock | None] = [None] * config.warps
        self._parts: list[list[Clock | None]] = []
        self._meetings: list[int] = []
        #: The warps that have not run since this part of the run began.
        self._rest: set[int] = set()
        self._steps = 0
        #: For each barrier, the stretches that ended when warps last met there, by warp.
        self._met: dict[int, dict[int, int]] = {}

    @property
    def memory(self) -> Memory:
        """The memory shared by all warps."""
        return self._memory

    def assume(self, inputs: Inputs) -> None:
        """Assume that the inputs are unknown at the launch, or within their ranges. They must not contain code."""
        for first, end in inputs.areas:
            self._memory.forget(first, end)
            self._program.covers(first, end)
        for each in inputs.ranges:
            self._memory.assume(each)

    def launch(self, start_pc: int) -> None:
        """Start warp 0."""
        self._start(0, start_pc)
        self._ready.append(0)

    def advance(self) -> None:
        """Explore until the end, or until all warps wait for each other or for other SMs."""
        while self._ready:
            warp = self._ready.pop(0)
            event = self._active[warp].run(self._count)
            self._active[warp].event = event
            if isinstance(event, WarpEnd):
                self._clocks[warp] = self._active.pop(warp).path.clock
            elif isinstance(event, BarrierArrival):
                self._ready += self._meet(warp, event)
            elif isinstance(event, Fence):
                self._alone(warp, "a fence, which empties its data cache,")
                self._renew(warp)
            self._ready += self._spawn()

    @property
    def arrival(self) -> BarrierArrival | None:
        """The barrier between SMs at which the only warp waits; None if all warps have ended."""
        for state in self._active.values():
            if isinstance(state.event, BarrierArrival) and state.event.between_sms:
                return state.event
            raise RefusedError("deadlock: the warps wait for each other", state.path.pc)
        return None

    def meet(self) -> None:
        """Continue after a barrier between SMs."""
        (warp,) = self._active
        self._meetings.append(len(self._parts))
        self._renew(warp)

    @property
    def place(self) -> int | None:
        """The pc of a warp that waits."""
        return next((state.path.pc - 4 for state in self._active.values()), None)

    def end(self) -> Exploration:
        """Return the result, at the end."""
        sure = not any(each.parted for each in self._ran.values())
        races = frozenset(self._memory.races)
        return Exploration(
            self._clocks, self._steps, sure, races, self._memory.reads, self._parts, self._meetings)

    def _alone(self, warp: int, what: str) -> None:
        if len(self._active) > 1:
            raise RefusedError(
                f"{what} while other warps of its SM run: with several SMs, a bound needs it to run alone",
                self._active[warp].path.pc - 4)

    def _renew(self, warp: int) -> None:
        """Begin a part of the run: only ``warp`` is active, nothing is under way, and the data cache is empty."""
        state = self._active[warp]
        path, before = state.path, state.path.clock
        self._clocks[warp] = before
        self._parts.append(self._clocks)
        self._clocks = [None] * self._config.warps
        self._rest = set(self._ran) - {warp}
        self._make_clock = self._begin(self._program)
        path.clock = self._make_clock(warp)
        path.clock.resume(before, path.pc)
        state.event = None
        self._ready.append(warp)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > self._limit:
            raise RefusedError(f"no end after {self._limit} instructions: a loop without a bound, or a long program")

    def _start(self, warp: int, pc: int) -> None:
        """Start a warp with only its first lane active. Registers keep their values."""
        before = self._ran.get(warp)
        config = self._config
        fresh = before is None or warp in self._rest
        clock = self._make_clock(warp) if fresh or before is None else before.path.clock
        self._rest.discard(warp)
        only_first = np.arange(config.threads) == 0
        if before is None:
            execution = Execution(config, self._iss, warp, self._program, self._memory)
            lanes = Lanes(self._iss.lanes_of(warp).copy())
            numbers = [0, *(execution.warp.values.fresh() for _ in range(63))]
            path = Path(pc, lanes, lanes.copy(), only_first, only_first.copy(), clock, numbers, 1)
        else:
            execution, path = before.execution, before.path
            path.restart(only_first, execution.warp.values)
            path.pc, path.clock = pc, clock
        path.calls, path.turns, path.splits, path.passes = [(pc, -1)], [{}, {}], [], {}
        state = self._active[warp] = self._ran[warp] = RunningWarp(execution, path, self._facts)
        state.parted = before is not None and before.parted
        clock.start(pc)

    def _meet(self, warp: int, event: BarrierArrival) -> list[int]:
        """Record a warp's arrival at a barrier; return the warps that can continue."""
        if event.count == 1:
            return [warp]
        if event.between_sms:
            self._alone(warp, "a barrier between SMs")
            return []
        self._refuse_unordered(warp, event)
        there = [each for each, state in self._active.items() if state.event == event]
        if len(there) != event.count:
            return []
        self._met[event.barrier] = self._memory.times.meet(there)
        for each in there:
            self._active[each].event = None
        self._together(there, None)
        return there

    def _refuse_unordered(self, warp: int, event: BarrierArrival) -> None:
        """Refuse a barrier if the order of arrival, which is unknown, decides which warps it releases together."""
        for state in self._active.values():
            other = state.event
            if isinstance(other, BarrierArrival) and other.barrier == event.barrier and other.count != event.count:
                raise RefusedError(
                    f"warps wait at barrier {event.barrier} for {event.count} and for {other.count} warps: which "
                    "warps meet depends on timing", self._active[warp].path.pc - 4
                )
        met = self._met.get(event.barrier)
        if met is not None and not self._memory.times.ordered_after(warp, met):
            raise RefusedError(
                f"more than {event.count} warps may arrive at barrier {event.barrier}, which waits for "
                f"{event.count}: which warps meet depends on timing", self._active[warp].path.pc - 4
            )

    def _spawn(self) -> list[int]:
        """If the only active warp waits to start others, start them; return the warps that can continue."""
        if len(self._active) != 1:
            return []
        ((warp, state),) = self._active.items()
        event = state.event
        if not isinstance(event, WarpSpawn):
            return []
        state.event = None
        self._memory.times.meet(list(range(self._config.warps)))
        started = [each for each in range(min(event.count, self._config.warps)) if each != warp]
        for each in started:
            self._start(each, event.pc)
        self._together(self._ran, 1 + len(started))
        return [warp, *started]

    def _together(self, warps: Iterable[int], active: int | None) -> None:
        clocks = [self._ran[each].path.clock for each in warps if each not in self._rest]
        clocks[0].meet(clocks, active)


def explore(
    config: SmConfig, memory: SparseMemory, start_pc: int, argument: int, inputs: Inputs,
    begin: ClockMaker, limit: int, facts: Facts | None = None,
) -> Exploration:
    """Explore every path of the program in ``memory`` for all ``inputs``, except the paths that ``facts`` exclude.

    ``begin`` returns the function that makes a warp's clock from its number. It is called again whenever the
    exploration restarts. At most ``limit`` instructions are analysed.

    Raises
    ------
    RefusedError
        If the program cannot be analysed, with the reason.
    """
    races: set[int] = set()
    while True:
        before = len(races)
        known = Known(AnalyzedProgram(memory, learns=config.learns), races, facts, RangeReads(inputs.ranges))
        explorer = Explorer(config, memory.copy(), argument, begin, limit, known)
        explorer.assume(inputs)
        explorer.memory.main, explorer.memory.late = inputs.launch.main, inputs.late
        explorer.launch(start_pc)
        explorer.advance()
        if explorer.arrival is not None:
            raise RefusedError("deadlock: a barrier between SMs", explorer.place)
        if len(races) == before:
            return explorer.end()
