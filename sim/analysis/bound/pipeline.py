"""The time of one warp as if it were alone, and its demand on shared resources, counted along a path.

Times form a max-plus system: an instruction issues in the cycle after the one before it, or when its operands are
ready, whichever is later. So when two paths join, the maximum of each time is an upper bound. An external delay moves
everything after it by at most its own length (docs/wcet.md, "A warp alone").
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Self

from metronome.hdl.isa.ops import BranchOp, Unit

from ..code.costs import DEPTH, MISS, Cost
from ..code.decoding import Decoded
from ..paths.clock import Access, Clock
from .counts import SharedState, WarpCounts
from .lines import LoadedLines
from .predictions import Outcome, Predictions
from .segments import Segments
from .turns import Turns

__all__ = ["Pipeline"]

#: While its warp's own results use the registers' port, a load waits: until this many cycles after the last of them.
_BEHIND = 1


class Pipeline:
    """A clock (:class:`sim.analysis.paths.clock.Clock`) of one warp.

    - ``time``: the cycle after the last issue of the warp alone, with misses of its loads but not of its code.
    - ``chain``: the waits of a chain: the cycles in which this warp, and the warps that it waited for, one after the
      other, could not issue. ``span``: all cycles of that chain.
    - ``strict``: whether the warp issues only at its turn: one cycle in n, if n warps are active. All times are then
      times of turns.

    All counts restart after the common beginning (:mod:`sim.analysis.bound.prefix`).
    """

    def __init__(self, shared: SharedState, warp: int = 0, *, strict: bool = False) -> None:
        self._shared, self.warp = shared, warp
        shared.ran.add(warp)
        self._strict, self._turn = strict, Turns(shared.costs.shortest)
        self.counts = WarpCounts()
        self.lines = LoadedLines(shared, self.counts)
        self.time = self.chain = self._span = 0
        #: Waits that ``time`` does not include: for wrong predictions since it last met others, and all before then.
        self.owed = 0
        self._apart = 0
        self._ready = [0] * 64
        self._loads: set[int] = set()
        self._units: dict[object, int] = {}
        self._written = 0
        #: Whether a store of the warp may be incomplete.
        self._stored = False
        self._begun = (0, 0)
        #: The fewest slots of any path so far, that number when the warp last met others, and the chain's waits then.
        self._least, self._least_begun, self._least_chain = 0, 0, 0
        self._turns: dict[int, int] = {}
        #: The most occurrences of each control instruction and next pc; the pcs at which the warp was started.
        self.edges: dict[tuple[int, int], int] = {}
        #: The most of these occurrences that may be predicted wrongly, and the warp's predictors.
        self.wrong: dict[tuple[int, int], int] = {}
        self._predictions = Predictions.fresh(shared.config)
        self.starts: list[int] = []
        self.segments = Segments()
        #: The instructions left in the common beginning, and the places of the last ones executed.
        self._left = shared.prefix.executed[warp] if shared.prefix.executed else 0
        self._places: list[int] = []

    def copy(self) -> Self:
        """See :class:`sim.analysis.paths.clock.Clock`."""
        twin = copy.copy(self)
        twin._turn, twin._turns, twin.segments = self._turn.copy(), dict(self._turns), self.segments.copy()
        twin.counts = self.counts.copy()
        twin.lines = self.lines.copy(twin.counts)
        twin._ready, twin._loads, twin._units = list(self._ready), set(self._loads), dict(self._units)
        twin.edges, twin.wrong, twin.starts = dict(self.edges), dict(self.wrong), list(self.starts)
        if self._left > 0:
            self._shared.prefix_lost = True
        return twin

    def join(self, other: Clock) -> None:
        """See :class:`sim.analysis.paths.clock.Clock`."""
        assert isinstance(other, Pipeline)
        self.counts.join(other.counts)
        self.lines.join(other.lines)
        self.time, self._written = max(self.time, other.time), max(self._written, other._written)
        self._ready = [max(pair) for pair in zip(self._ready, other._ready, strict=True)]
        self._least, self.owed = min(self._least, other._least), max(self.owed, other.owed)
        self._turn.join(other._turn)
        self._loads |= other._loads
        self._stored |= other._stored
        self._predictions = self._predictions.join(other._predictions)
        pairs = (self._units, other._units), (self._turns, other._turns), (self.wrong, other.wrong)
        self.segments.join(other.segments)
        for mine, theirs in (*pairs, (self.edges, other.edges)):
            for key, value in theirs.items():
                mine[key] = max(mine.get(key, 0), value)  # type: ignore[index, call-overload]

    def issue(self, pc: int, code: Decoded, following: int, access: Access | None) -> None:
        """See :class:`sim.analysis.paths.clock.Clock`."""
        shared = self._shared
        shared.fetch(pc, after_prefix=not self._left)
        cost = shared.costs.of(code.word)
        slots = self.counts.slots
        time = self._earliest(cost)
        self._count(cost)
        if cost.slot:
            self._written = max(self._written, time + cost.written)
        self._results(cost, time, access)
        wrong, later = self._predict(cost, pc, following)
        nops = cost.nops(pc, following, wrong=wrong)
        self.segments.issue(cost, access, nops)
        if code.row.control:
            self.edges[pc, following] = self.edges.get((pc, following), 0) + 1
            self._loop(pc, code, following)
        elif following in shared.loops:
            self._turns[following] = 0
        self.counts.nops += nops
        redirects = cost.redirects(pc, following, wrong=wrong) if cost.learned else nops > 0
        resolution = shared.costs.resolution(cost, redirects=redirects)
        self.time = self._after(time, 1 + resolution) + nops * self._slot
        if later:
            self._owe(DEPTH - nops, shared.costs.resolution(cost, redirects=True) - resolution)
        self._least += self.counts.slots - slots
        if self._left > 0:
            self._leave(pc, following)

    def _predict(self, cost: Cost, pc: int, following: int) -> Outcome:
        """Return what a learned prediction costs, and learn from it."""
        if not cost.learned and not cost.pushes:
            return Outcome()
        outcome, self._predictions = self._predictions.after(cost, pc, following)
        if outcome.wrong or outcome.later:
            self.wrong[pc, following] = self.wrong.get((pc, following), 0) + 1
        if cost.indirect:
            self._shared.kept.add(following)
        return outcome

    def _owe(self, nops: int, waits: int) -> None:
        """Count a wrong prediction that may come later: NOPs and waits that delay all that follows it."""
        self.counts.nops += nops
        # The waits of a warp that issues at its turn are whole rounds.
        self.owed += nops * self._slot + (self._slot * (waits > 0) if self._strict else waits)

    @property
    def _slot(self) -> int:
        """The cycles from one slot to the next without waits."""
        return self._turn.active if self._strict else 1

    def _after(self, time: int, gap: int) -> int:
        """Return the first time, at least ``gap`` cycles after ``time``, at which the warp can issue."""
        return time + (self._turn.after(gap) if self._strict else gap)

    def _results(self, cost: Cost, time: int, access: Access | None) -> None:
        """Compute when a dependent instruction can issue."""
        excess = 0 if access is None else self._access(cost.store, access)
        ready = self._after(time, cost.result)
        if self._strict:
            self._turn.issue(cost)
        if access is not None and not cost.store:
            ready = own = time + self._shared.costs.load + excess
            if access.most:
                ready = self.lines.load(cost.writes, time, access, excess)
            if self._strict and cost.writes is not None:
                self._turn.load(cost.writes, time, ready, own=ready == own)
                # The turns decide when it is ready. Another path, on which it is not loaded, may add its own time.
                ready = 0
        if cost.writes is not None:
            self._ready[cost.writes] = ready
            if cost.load:
                self._loads.add(cost.writes)
            else:
                self._loads.discard(cost.writes)

    def _earliest(self, cost: Cost) -> int:
        """Return when an instruction issues: its operands are ready, its unit is free, and it is the warp's turn."""
        ready, time = self._ready, self.time
        registers = range(64) if cost.drains else cost.reads
        loads = [register for register in registers if register in self._loads]
        self._loads.difference_update(loads)
        self.lines.read(cost.reads)
        time = max(time, *(ready[register] for register in registers), 0)
        if cost.drains:
            time = max(time, self._turn.later(self._written) if self._strict else self._written)
            self.lines.drained()
        if cost.busy:
            time = max(time, self._units.get(cost.unit, 0))
        if loads and self._strict:
            time = self._turn.take(loads, time)
        elif loads:
            # The load may arrive only now, delayed by this warp's own results at the port.
            time = max(time, self._written + _BEHIND)
        if cost.fences and (self._stored or self._shared.config.cores > 1):
            # A store may wait for an older store to its line, or for a load of it.
            time = self._after(time, 2 * (self._shared.costs.store + self._shared.memory.base) + MISS)
            self._stored = False
        if cost.busy:
            self._units[cost.unit] = self._after(time, cost.busy)
        return time

    def _count(self, cost: Cost) -> None:
        counts = self.counts
        counts.instructions += 1
        if cost.slot:
            counts.results[cost.written] = counts.results.get(cost.written, 0) + 1
        counts.divisions += cost.unit is Unit.DIV
        counts.float_divisions += cost.unit is Unit.FDIV
        counts.fences += cost.fences
        counts.flushes, counts.turns = counts.flushes + cost.flushes, counts.turns + cost.shared

    def _loop(self, pc: int, code: Decoded, following: int) -> None:
        """Count the passes of a loop; the count restarts when the loop is entered."""
        loops = self._shared.loops
        back = 0 <= following <= pc and code.writes is None and code.unit is Unit.BRANCH
        if back and code.row.op is not BranchOp.JALR:
            count = self._turns[following] = self._turns.get(following, 0) + 1
            loops[following] = max(loops.get(following, 0), count + 1)
        elif following in loops:
            self._turns[following] = 0

    def _access(self, store: bool, access: Access) -> int:
        """Count an access; return the cycles in the LSU beyond those for one line."""
        shared, counts = self._shared, self.counts
        turns = access.most + access.turns
        shared.local |= bool(access.turns)
        # From the register in front of the banks, the next local access is served a cycle later.
        excess = max(0, turns - 1) + (shared.costs.late if access.turns else 0)
        counts.excess += excess
        if store:
            self._stored = True
            counts.stored_lines += access.most
        else:
            counts.loaded_lines += access.most
            counts.answers += access.most + bool(access.turns)
        counts.uncached += shared.access(store, access)
        return excess

    @property
    def within(self) -> bool:
        """Whether the warp is in the common beginning of all runs."""
        return self._left > 0

    def _leave(self, pc: int, following: int) -> None:
        """Record an instruction of the prefix; after the last one, all counts restart."""
        self._places = [*self._places[-2 * DEPTH :], pc]
        self._left -= 1
        if self._left:
            return
        shared = self._shared
        # Fetches on a wrong path may arrive after the prefix.
        for place in self._places:
            shared.fetch(place, after_prefix=True)
        self._anew()
        self.starts = [following] if following >= 0 else []

    def _anew(self) -> None:
        """Restart all counts. Nothing is in flight, and all slots in the buffer may be NOPs."""
        self.counts = WarpCounts(started=DEPTH)
        self.lines = LoadedLines(self._shared, self.counts, self._shared.prefix.data)
        self._ready, self._units, self._written = [0] * 64, {}, 0
        self._loads.clear()
        self._turn.clear()
        self._stored = False
        self._predictions = self._predictions.met()
        self.edges, self.wrong = {}, {}
        self.segments = Segments()
        self.chain = self._span = self._apart = self.owed = 0
        self._least, self._least_begun, self._least_chain = DEPTH, 0, 0
        # The first turn may be one round away, and each NOP takes a round.
        self.time = (DEPTH + self._strict) * self._slot
        self._begun = 0, 0

    def start(self, pc: int) -> None:
        """Start the warp; its buffer holds d NOPs, and it has learned nothing."""
        self._predictions = Predictions.fresh(self._shared.config)
        self.starts.append(pc)
        self.counts.started += DEPTH
        self._least += DEPTH
        self.time += DEPTH

    def _end(self, pc: int) -> None:
        """Let a walk end before ``pc``, or with the next control instruction."""
        last = self._shared.program.next_control(pc - 4)
        self.edges[last, -1] = self.edges.get((last, -1), 0) + 1

    def resume(self, before: Clock, pc: int) -> None:
        """See :class:`sim.analysis.paths.clock.Clock`: all slots of its buffer may be NOPs."""
        assert isinstance(before, Pipeline)
        before._end(pc)
        self.start(pc)
        self._shared.kept |= before._shared.kept
        self._predictions = before._predictions.met()

    @staticmethod
    def meet(clocks: Iterable[Clock], active: int | None) -> None:
        """Let the warps continue together. It is unknown which warp waited for which."""
        pipelines = [each for each in clocks if isinstance(each, Pipeline)]
        shared = pipelines[0]._shared
        # If a warp is still in the prefix, they have met in it.
        within = any(each.within for each in pipelines)
        shared.releases += not within
        shared.phases.append({each.warp: each.slots for each in pipelines})
        shared.apart |= shared.ran != {each.warp for each in pipelines}
        chain, span = max(each.idle for each in pipelines), max(each.span for each in pipelines)
        least = max(each.most_idle for each in pipelines)
        for each in pipelines:
            each.chain, each._span = (0, 0) if within else (chain, span)
            each._apart += each.lines.ranged + each.owed
            each.owed = 0
            each.lines.met()
            each._predictions = each._predictions.met()
            each._begun = each.time, each.counts.slots
            each._least_chain, each._least_begun = 0 if within else least, each._least
            if active is not None:
                each._turn.begin(active)
                shared.active = max(shared.active, active)
                # A started warp begins with d NOPs, which also take turns.
                each.time += DEPTH * active if each._strict else 0

    @property
    def slots(self) -> int:
        """The issue slots since the warp last met others."""
        return self.counts.slots - self._begun[1]

    @property
    def idle(self) -> int:
        """``chain``, plus the waits of this warp since it last met others."""
        time, slots = self._begun
        return self.chain + (self.time - time) - (self.counts.slots - slots) + self.lines.ranged + self.owed

    @property
    def most_idle(self) -> int:
        """The most ``idle`` of any path: none takes longer than ``time``, and each has at least ``_least`` slots."""
        time = self.time - self._begun[0] + self.lines.ranged + self.owed
        return self._least_chain + time - (self._least - self._least_begun)

    @property
    def span(self) -> int:
        """All cycles of this warp alone and of the warps that it waited for, one after the other."""
        return self._span + self.time - self._begun[0] + self.lines.ranged + self.owed

    @property
    def alone(self) -> int:
        """The cycles in which this warp, alone, could not issue."""
        return self.time - self.counts.slots + self._apart + self.lines.ranged + self.owed
