"""One warp's pipeline as if it were alone, and what it asks of what all warps share: counted along a path.

Times are a max-plus system: an instruction is issued in the cycle behind the one before it, or when what it waits for is
there, whichever is later. So where two paths meet, the later of each two times is an upper bound; and a delay from outside
makes everything behind it later by no more than itself (docs/wcet.md, "A warp alone").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.isa.ops import BranchOp, Unit

from .costs import DECODED_AFTER, RESOLUTION, Cost, Costs
from .decoding import Decoded
from .order import target_of
from .paths import Access, Clock
from .program import Program

__all__ = ["Counts", "Pipeline", "Shared"]

_DEPTH = DECODED_AFTER + 1
#: A load waits for the port of the registers as long as its warp's own results take it: until the one behind the last.
_BEHIND = 1


@dataclass
class Counts:
    """What a warp asks for, at most. All are numbers of instructions but for the NOPs, ``excess`` and accesses to lines.

    ``redirected``: NOPs behind resolved control flow. ``followed``: jumps followed at decode, and the ``turned`` NOPs
    behind them. ``excess``: cycles beyond the first that an access takes in the LSU. ``long``: writes that can be in the way
    of a younger instruction's. ``busy``: by unit, the cycles for which it takes nothing else.
    """

    instructions: int = 0
    redirected: int = 0
    followed: int = 0
    turned: int = 0
    started: int = 0
    excess: int = 0
    long: int = 0
    divisions: int = 0
    float_divisions: int = 0
    loaded_lines: int = 0
    stored_lines: int = 0
    fences: int = 0
    flushes: int = 0

    @property
    def slots(self) -> int:
        """Issue slots, but for NOPs behind misses."""
        return self.instructions + self.redirected + self.started + self.turned

    def join(self, other: Counts) -> None:
        """The greater of each two."""
        for each in _NAMES:
            mine, theirs = getattr(self, each), getattr(other, each)
            if theirs > mine:
                setattr(self, each, theirs)


_NAMES = [each.name for each in dataclasses.fields(Counts)]


@dataclass
class Shared:
    """What is known of all warps together: lines of code and data that are touched on any path.

    ``loads_anywhere``: of some load the lines are not known. ``turned``: NOPs behind a jump that is
    followed at decode, by its pc, at most. ``active``: so many are active at once, at most. ``store_ranges``: from which line to which a store
    goes whose lines are not known. ``meetings``: how often warps have gone on together.
    ``loops``: how often a loop is gone through at most, entered once, by its header.
    """

    config: SmConfig
    program: Program
    costs: Costs
    code: set[int] = field(default_factory=set)
    loads: set[int] = field(default_factory=set)
    stores: set[int] = field(default_factory=set)
    loops: dict[int, int] = field(default_factory=dict)
    meetings: int = 0
    active: int = 1
    turned: dict[int, int] = field(default_factory=dict)
    store_ranges: set[tuple[int, int]] = field(default_factory=set)
    loads_anywhere: bool = False
    stores_anywhere: bool = False
    _seen: set[int] = field(default_factory=set)

    def stored_and_loaded(self) -> int | None:
        """How many lines a load and a store may both touch; None: any."""
        if self.loads_anywhere or self.stores_anywhere:
            return None
        return sum(
            line in self.stores or any(first <= line <= last for first, last in self.store_ranges)
            for line in self.loads
        )

    def fetch(self, pc: int) -> None:
        """The instruction at ``pc`` is executed: it and what may be fetched behind it on a wrong path."""
        if pc in self._seen:
            return
        self._seen.add(pc)
        self.code.add(pc // LINE_BYTES)
        for behind in range(1, _DEPTH + 1):
            place = pc + 4 * behind
            self.code.add(place // LINE_BYTES)
            decoded = self.program.look(place)
            target = None if decoded is None else target_of(decoded, place)
            if target is not None:
                self.code.add(target // LINE_BYTES)
        target = target_of(self.program.at(pc).decoded, pc)
        if target is not None:
            self.code.update(range(target // LINE_BYTES, (target + 4 * _DEPTH) // LINE_BYTES + 1))


class _Segment(NamedTuple):
    """The last of a chain of segments (paper 001, section IV-A), which paths share."""

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
        self._loads: dict[int, int] = {}
        self._units: dict[object, int] = {}
        self._written = 0
        self._begun = (0, 0)
        #: The cycle of the last issue.
        self._before = -1
        self._turns: dict[int, int] = {}
        #: The last d slots, oldest first; None: a NOP, or what is not known.
        self._recent: list[Cost | None] = [None] * _DEPTH
        #: A control instruction and where it goes on -> how often, at most; where the warp was started.
        self.edges: dict[tuple[int, int], int] = {}
        self.starts: list[int] = []
        self._segments = _Segment(None, 0, 0, 0)
        self._in_segment: set[int] = set()
        #: Line -> how often this warp loads from it, at most.
        self.loaded: dict[int, int] = {}

    def copy(self) -> Pipeline:
        """See :class:`sim.analysis.paths.Clock`."""
        twin = Pipeline(self._shared, strict=self._strict)
        twin._active, twin._span = self._active, self._span
        twin.counts = dataclasses.replace(self.counts)
        twin.time, twin.chain, twin._written, twin._begun = self.time, self.chain, self._written, self._begun
        twin._before = self._before
        twin._ready, twin._loads, twin._units = list(self._ready), dict(self._loads), dict(self._units)
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
        self._before = max(self._before, other._before)
        self._ready = [max(pair) for pair in zip(self._ready, other._ready, strict=True)]
        self._recent = [
            mine if mine is theirs else None for mine, theirs in zip(self._recent, other._recent, strict=True)
        ]
        pairs = (self._loads, other._loads), (self._units, other._units), (self._turns, other._turns)
        if other._segments.total > self._segments.total:
            self._segments, self._in_segment = other._segments, set(other._in_segment)
        for mine, theirs in (*pairs, (self.loaded, other.loaded), (self.edges, other.edges)):
            for key, value in theirs.items():
                mine[key] = max(mine.get(key, 0), value)  # type: ignore[index, call-overload]

    def issue(self, pc: int, code: Decoded, following: int, access: Access | None) -> None:
        """See :class:`sim.analysis.paths.Clock`."""
        shared, counts, ready = self._shared, self.counts, self._ready
        shared.fetch(pc)
        cost = shared.costs.of(code.word)
        time = self.time
        for register in cost.reads:
            at = ready[register]
            if at > time:
                time = at
            if register in self._loads:
                # The load may have come only now, and this warp's own results were in its way.
                time = max(time, self._written + _BEHIND)
                del self._loads[register]
        if cost.drains:
            time = max(time, *ready, self._written)
            self._loads.clear()
        if cost.busy:
            time = max(time, self._units.get(cost.unit, 0))
            self._units[cost.unit] = time + cost.busy
        if self._strict:
            time = self._before + self._turn_after(time - self._before)
        self._before = time
        counts.instructions += 1
        if cost.slot:
            self._written = max(self._written, time + cost.result)
            counts.long += cost.long
        if cost.busy:
            if cost.unit.name == "DIV":
                counts.divisions += 1
            else:
                counts.float_divisions += 1
        result = cost.result
        if access is not None:
            result += self._access(cost.store, access)
        if cost.writes is not None:
            ready[cost.writes] = time + result
            if cost.load:
                self._loads[cost.writes] = 1
            else:
                self._loads.pop(cost.writes, None)
        self._segment(cost, access)
        if code.row.control:
            self.edges[pc, following] = self.edges.get((pc, following), 0) + 1
        time += 1
        if cost.waits:
            time += RESOLUTION
        nops = 0
        if cost.followed:
            counts.followed += 1
            nops += self._turned()
            counts.turned += nops
            shared.turned[pc] = max(shared.turned.get(pc, 0), nops)
        self._recent = [*self._recent[1:], cost]
        if self._redirects(pc, cost.followed, following, jumps=cost.flushes or (cost.waits and following >= 0)):
            counts.redirected += _DEPTH
            nops += _DEPTH
        if nops:
            self._recent = [*self._recent, *[None] * nops][-_DEPTH:]
        if following <= pc and cost.unit is Unit.BRANCH and code.writes is None and following >= 0:
            self._turn(following, code)
        elif following in shared.loops:
            self._turns[following] = 0
        counts.fences += cost.fences
        counts.flushes += cost.flushes
        if self._strict and nops:
            self._before = time + nops * self._active - 1
            self.time = self._before + 1
        else:
            self.time = time + nops

    def _turned(self) -> int:
        """The NOPs behind a jump that is followed at decode, at most.

        It is fetched when the d-th slot before it is popped. NOPs come of those behind that one which are popped in the
        next t_F cycles; those that have to wait for each other longer are not.
        """
        times = [0] * _DEPTH
        for at in range(1, _DEPTH):
            slot, before = self._recent[at], self._recent[at - 1]
            times[at] = times[at - 1] + 1
            if before is not None and before.waits:
                times[at] += RESOLUTION
            for other in range(at):
                maker = self._recent[other]
                if slot is not None and maker is not None and maker.writes in slot.reads and maker.writes is not None:
                    times[at] = max(times[at], times[other] + maker.result)
        return sum(time <= DECODED_AFTER for time in times[1:])

    def _turn(self, header: int, code: Decoded) -> None:
        """A loop is gone through once more."""
        if code.row.op is BranchOp.JALR:
            return
        count = self._turns[header] = self._turns.get(header, 0) + 1
        loops = self._shared.loops
        loops[header] = max(loops.get(header, 0), count + 1)

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

    def _redirects(self, pc: int, followed: bool, following: int, *, jumps: bool) -> bool:
        if not jumps:
            return following < 0
        elsewhere = following != pc + 4 & 0xFFFF_FFFF
        return elsewhere != followed or self._shared.costs.of(self._shared.program.at(pc).decoded.word).flushes

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
        self.counts.started += _DEPTH
        self.time += _DEPTH * (self._active - 1)
        self._before = self.time - 1
        self._recent = [None] * _DEPTH
        self.time += _DEPTH

    def _turn_after(self, gap: int) -> int:
        """From one turn to the first that is ``gap`` cycles or more behind it, for any number of active warps."""
        return max(-(-gap // active) * active for active in range(1, self._active + 1))

    @staticmethod
    def meet(clocks: Iterable[Clock], active: int | None) -> None:
        """The warps go on together: who waited for whom is not known."""
        pipelines = [each for each in clocks if isinstance(each, Pipeline)]
        shared = pipelines[0]._shared  # noqa: SLF001 - of the same class
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
