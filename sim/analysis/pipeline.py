"""One warp's pipeline as if it were alone, and what it asks of what all warps share: counted along a path.

Times are a max-plus system: an instruction is issued in the cycle behind the one before it, or when what it waits for
is there, whichever is later. So where two paths meet, the later of each two times is an upper bound; and a delay from
outside makes everything behind it later by no more than itself (docs/wcet.md, "A warp alone").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from metronome.hdl.isa.ops import BranchOp, Unit

from .costs import DECODED_AFTER, DEPTH, RESOLUTION, Cost
from .counts import Counts, Shared
from .decoding import Decoded
from .paths import Access, Clock

__all__ = ["Pipeline"]

#: A load waits for the port of the registers as long as its warp's own results take it: until the one behind the last.
_BEHIND = 1


class _Segment(NamedTuple):
    """The last of a chain of segments (Huangfu 2017, section IV-A), which paths share."""

    before: _Segment | None
    issue: int
    latency: int
    lines: int

    @property
    def total(self) -> int:
        """How long this one is; chains that part here share what is before."""
        return self.issue + self.latency + self.lines


class Pipeline:
    """A clock (:class:`sim.analysis.paths.Clock`) of one warp.

    ``time``: the cycle behind the last issue, alone, without misses. ``chain``: cycles in which nothing could be issued
    for certain, of this warp and those that it has waited for, one after the other; ``span``: all cycles of them.
    ``strict``: the warp has its turn in one cycle of as many as there are active warps, and waits for it.
    """

    def __init__(self, shared: Shared, *, strict: bool = False) -> None:
        self._shared = shared
        self._strict, self._active = strict, 1
        self._span = 0
        self.counts = Counts()
        self.time = 0
        self.chain = 0
        self._ready = [0] * 64
        self._loads: set[int] = set()
        self._units: dict[object, int] = {}
        self._written = 0
        self._begun = (0, 0)
        #: The cycle of the last issue.
        self._before = -1
        self._turns: dict[int, int] = {}
        #: The last d slots, oldest first; None: a NOP, or what is not known.
        self._recent: list[Cost | None] = [None] * DEPTH
        #: A control instruction and where it goes on -> how often, at most; where the warp was started.
        self.edges: dict[tuple[int, int], int] = {}
        self.starts: list[int] = []
        self._segments = _Segment(None, 0, 0, 0)
        self._in_segment: set[int] = set()
        #: Line -> how often this warp loads from it, at most.
        self.loaded: dict[int, int] = {}

    def copy(self) -> Pipeline:
        """See :class:`sim.analysis.paths.Clock`."""
        twin = type(self)(self._shared, strict=self._strict)
        twin._active, twin._span = self._active, self._span
        twin.counts = dataclasses.replace(self.counts)
        twin.time, twin.chain, twin._written, twin._begun = self.time, self.chain, self._written, self._begun
        twin._before = self._before
        twin._ready, twin._loads, twin._units = list(self._ready), set(self._loads), dict(self._units)
        twin._recent = self._recent
        twin.edges, twin.starts = dict(self.edges), list(self.starts)
        twin._segments, twin._in_segment = self._segments, set(self._in_segment)
        twin._turns, twin.loaded = dict(self._turns), dict(self.loaded)
        return twin

    def join(self, other: Clock) -> None:
        """See :class:`sim.analysis.paths.Clock`."""
        assert isinstance(other, Pipeline)
        self.counts.join(other.counts)
        self.time, self._written = max(self.time, other.time), max(self._written, other._written)
        self._ready = [max(pair) for pair in zip(self._ready, other._ready, strict=True)]
        if self._strict and self._before != other._before:
            # The turns of the two paths do not fall together: the next one may be missed.
            self.time += self._active - 1
            self._ready = [each + self._active - 1 for each in self._ready]
        self._before = max(self._before, other._before)
        self._recent = [
            mine if mine is theirs else None for mine, theirs in zip(self._recent, other._recent, strict=True)
        ]
        self._loads |= other._loads
        pairs = (self._units, other._units), (self._turns, other._turns)
        if other._segments.total > self._segments.total:
            self._segments, self._in_segment = other._segments, set(other._in_segment)
        for mine, theirs in (*pairs, (self.loaded, other.loaded), (self.edges, other.edges)):
            for key, value in theirs.items():
                mine[key] = max(mine.get(key, 0), value)  # type: ignore[index, call-overload]

    def issue(self, pc: int, code: Decoded, following: int, access: Access | None) -> None:
        """See :class:`sim.analysis.paths.Clock`."""
        shared = self._shared
        shared.fetch(pc)
        cost = shared.costs.of(code.word)
        time = self._before = self._earliest(cost)
        self._count(cost)
        if cost.slot:
            self._written = max(self._written, time + cost.result)
        excess = 0 if access is None else self._access(cost.store, access)
        if cost.writes is not None:
            self._ready[cost.writes] = time + cost.result + excess
            if cost.load:
                self._loads.add(cost.writes)
            else:
                self._loads.discard(cost.writes)
        self._segment(cost, access)
        if code.row.control:
            self.edges[pc, following] = self.edges.get((pc, following), 0) + 1
            self._loop(pc, code, following)
        elif following in shared.loops:
            self._turns[following] = 0
        time += 1 + (RESOLUTION if cost.waits else 0)
        nops = self._nops(pc, cost, following)
        if self._strict and nops:
            self._before = time + nops * self._active - 1
            self.time = self._before + 1
        else:
            self.time = time + nops

    def _earliest(self, cost: Cost) -> int:
        """When the instruction is issued: its operands are there, its unit is free, and it is the warp's turn."""
        ready, time = self._ready, self.time
        for register in cost.reads:
            time = max(time, ready[register])
            if register in self._loads:
                # The load may have come only now, and this warp's own results were in its way.
                time = max(time, self._written + _BEHIND)
                self._loads.discard(register)
        if cost.drains:
            time = max(time, *ready, self._written)
            self._loads.clear()
        if cost.busy:
            time = max(time, self._units.get(cost.unit, 0))
            self._units[cost.unit] = time + cost.busy
        return self._before + self._turn_after(time - self._before) if self._strict else time

    def _count(self, cost: Cost) -> None:
        counts = self.counts
        counts.instructions += 1
        counts.long += cost.slot and cost.long
        counts.divisions += cost.unit is Unit.DIV
        counts.float_divisions += cost.unit is Unit.FDIV
        counts.fences += cost.fences
        counts.flushes += cost.flushes

    def _nops(self, pc: int, cost: Cost, following: int) -> int:
        """The NOPs behind an instruction, at most."""
        counts, shared = self.counts, self._shared
        nops = 0
        if cost.followed:
            counts.followed += 1
            nops = self._turned()
            counts.turned += nops
            shared.turned[pc] = max(shared.turned.get(pc, 0), nops)
        self._recent = [*self._recent[1:], cost]
        if cost.redirects(pc, following):
            counts.redirected += DEPTH
            nops += DEPTH
        if nops:
            self._recent = [*self._recent, *[None] * nops][-DEPTH:]
        return nops

    def _turned(self) -> int:
        """The NOPs behind a jump that is followed at decode, at most.

        It is fetched when the d-th slot before it is popped. NOPs come of those behind that one which are popped in the
        next t_F cycles; those that have to wait for each other longer are not.
        """
        times = [0] * DEPTH
        for at in range(1, DEPTH):
            slot, before = self._recent[at], self._recent[at - 1]
            times[at] = times[at - 1] + 1
            if before is not None and before.waits:
                times[at] += RESOLUTION
            for other in range(at):
                maker = self._recent[other]
                if slot is not None and maker is not None and maker.writes in slot.reads and maker.writes is not None:
                    times[at] = max(times[at], times[other] + maker.result)
        return sum(time <= DECODED_AFTER for time in times[1:])

    def _loop(self, pc: int, code: Decoded, following: int) -> None:
        """How often a loop is gone through: it begins anew where it is entered from before."""
        loops = self._shared.loops
        back = 0 <= following <= pc and code.writes is None and code.unit is Unit.BRANCH
        if back and code.row.op is not BranchOp.JALR:
            count = self._turns[following] = self._turns.get(following, 0) + 1
            loops[following] = max(loops.get(following, 0), count + 1)
        elif following in loops:
            self._turns[following] = 0

    def _segment(self, cost: Cost, access: Access | None) -> None:
        """What depends on an instruction of the segment begins another one."""
        if self._in_segment.intersection(cost.reads):
            self._segments = _Segment(self._segments, 0, 0, 0)
            self._in_segment.clear()
        before, issue, latency, lines = self._segments
        if access is not None and cost.load:
            lines = max(lines, access.most)
        else:
            latency = max(latency, cost.result)
        self._segments = _Segment(before, issue + 1, latency, lines)
        if cost.writes is not None:
            self._in_segment.add(cost.writes)

    def _access(self, store: bool, access: Access) -> int:
        """What the LSU does; returns the cycles that it takes longer than with one line."""
        shared, counts = self._shared, self.counts
        turns = access.most + access.turns
        excess = max(0, turns - 1)
        counts.excess += excess
        if store:
            counts.stored_lines += access.most
        else:
            counts.loaded_lines += access.most
        lines = shared.stores if store else shared.loads
        if access.lines is not None:
            lines.update(access.lines)
            if not store:
                for line in access.lines:
                    self.loaded[line] = self.loaded.get(line, 0) + 1
        elif store and access.within is not None:
            shared.store_ranges.add(access.within)
        elif store:
            shared.stores_anywhere = True
        else:
            shared.loads_anywhere = True
        return excess

    def start(self, pc: int) -> None:
        """The warp is started: its buffer holds d NOPs."""
        self.starts.append(pc)
        self.counts.started += DEPTH
        self.time += DEPTH * (self._active - 1)
        self._before = self.time - 1
        self._recent = [None] * DEPTH
        self.time += DEPTH

    def _turn_after(self, gap: int) -> int:
        """From one turn to the first that is ``gap`` cycles or more behind it, for any number of active warps."""
        return max(-(-gap // active) * active for active in range(1, self._active + 1))

    @staticmethod
    def meet(clocks: Iterable[Clock], active: int | None) -> None:
        """The warps go on together: who waited for whom is not known."""
        pipelines = [each for each in clocks if isinstance(each, Pipeline)]
        shared = pipelines[0]._shared
        shared.meetings += 1
        chain, span = max(each.idle for each in pipelines), max(each.span for each in pipelines)
        for each in pipelines:
            each.chain, each._span = chain, span
            each._begun = each.time, each.counts.slots
            if active is not None:
                each._active = active
                shared.active = max(shared.active, active)

    @property
    def segments(self) -> list[tuple[int, int, int]]:
        """Instructions that are issued together, the longest latency but of loads, the lines of the widest load."""
        found: list[tuple[int, int, int]] = []
        at: _Segment | None = self._segments
        while at is not None:
            found.append((at.issue, at.latency, at.lines))
            at = at.before
        return found[::-1]

    @property
    def idle(self) -> int:
        """``chain``, and what this warp has added since it last met others."""
        time, slots = self._begun
        return self.chain + (self.time - time) - (self.counts.slots - slots)

    @property
    def span(self) -> int:
        """All cycles of this warp alone and of those that it has waited for, one after the other."""
        return self._span + self.time - self._begun[0]

    @property
    def alone(self) -> int:
        """Cycles in which this warp alone could issue nothing."""
        return self.time - self.counts.slots
