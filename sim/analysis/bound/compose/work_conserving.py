"""The bound of a scheduler that never idles while a warp is eligible: issue slots of all, and the longest wait of one.

The argument is in docs/wcet.md ("Work-conserving"), step by step and with what of it is proved.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metronome.hdl.config import LINE_BYTES, SmConfig

from ....predict.model.records import QUEUE
from ....predict.model.scoreboard import ISSUE_TO_EXECUTE
from ...code.costs import DEPTH, LOAD, MISS, SHORTEST, STORE
from ...code.refusals import RefusedError
from ..counts import SharedState
from ..memory_bound import MemoryBound
from ..pipeline import Pipeline
from .implicit import EdgeCounts, slots_by_program, walk_of
from .parts import Composed

__all__ = ["POLICIES", "Demand", "implicit_paths", "one_by_one", "strict_turns", "work_conserving"]

#: The policies that select a warp whenever one is eligible.
POLICIES = (
    "lrr", "gtlrr", "gtlo", "fixed", "lo", "gto", "gto_dispatch", "pta", "icount", "two_level", "variable_rate",
)
#: From a fetch that misses to the cycle in which its warp is eligible again, without the latency and other requests.
_FETCH = 4
#: A part of a load, from its lookup to the port of the registers: the same.
_PART = 6
#: Cycles for which others may have to wait in the lookup while a line goes into the cache.
_FILL = 2
#: From the issue of a load that hits to its values at the port of the registers.
_LOAD_PORT = LOAD - 1
#: Loads before another one, that are not at the port yet: those that may gather before a lookup that waits (one more
#: than the queue takes, itself among them), and what a hit goes through behind it.
_OLDER = QUEUE + 3
#: What goes by between the last arrival at a barrier, or the last end of a warp, and the next selection.
_MEETING = 8
#: From the launch to the first selection, and from the last instruction to the end.
_LAUNCH = 16


@dataclass(frozen=True)
class Demand:
    """What the warps ask for: by warp, and of all together.

    ``code_fits``: whether every line of code stays in the I-cache, but for what is fetched on wrong paths that depend
    on words that may change: so often, in ``strays``. ``misses``: requests of lines by loads, at most.
    """

    config: SmConfig
    pipelines: Sequence[Pipeline]
    shared: SharedState
    code_fits: bool
    misses: int
    strays: int

    @classmethod
    def of(cls, config: SmConfig, pipelines: Sequence[Pipeline], shared: SharedState) -> Demand:
        """Whether lines stay is worked out: a set never holds more than its ways."""
        lines = max(1, config.icache_bytes // LINE_BYTES // config.icache_ways)
        code_fits = config.icache_bytes > 0 and _fits((line % lines for line in shared.all_code), config.icache_ways)
        if not code_fits and config.icache_bytes and shared.active > 1:
            raise RefusedError(
                "its code does not fit into the I-cache: of several warps one may push out the line of another before "
                "that has fetched from it, again and again"
            )
        changed = {pc for pc, places in shared.followed.items() if shared.program.changes(places)}
        strays = sum(count for each in pipelines for (pc, _), count in each.edges.items() if pc in changed)
        return cls(config, pipelines, shared, code_fits, _misses(pipelines, shared), strays)

    def total(self, name: str) -> int:
        """The sum of a field of :class:`sim.analysis.bound.pipeline.WarpCounts` over the warps."""
        return sum(int(getattr(each.counts, name)) for each in self.pipelines)

    @functools.cached_property
    def walks(self) -> list[EdgeCounts]:
        """The dearest walk of each warp."""
        return [walk_of(self.shared, pipeline) for pipeline in self.pipelines]


def _fits(sets: Iterable[int], ways: int) -> bool:
    return max(Counter(sets).values(), default=0) <= ways


def _misses(pipelines: Sequence[Pipeline], shared: SharedState) -> int:
    """A line that stays is requested once, any other perhaps at each access."""
    missing = sum(each.counts.missing for each in pipelines)
    if shared.gone is None or any(not shared.stays(line) for line in shared.loads):
        return missing
    return min(missing, len(shared.awaited))


def work_conserving(demand: Demand, memory: MemoryBound) -> Composed:
    """The bound for a policy of :data:`POLICIES`: issue slots of all, and what the chain of the longest waits waits."""
    waits = max(each.idle for each in demand.pipelines)
    return Composed.of("work-conserving", *_sum(demand, memory, waits))


def implicit_paths(demand: Demand, memory: MemoryBound) -> Composed:
    """The same, with the issue slots of each warp by an integer program over its graph (:mod:`..ipet`)."""
    # The walk may have fewer slots than the sum of what is greatest on each path: so waits are those of any path.
    waits = max(each.most_idle for each in demand.pipelines)
    parts, _ = _sum(demand, memory, waits)
    instructions, nops = 0, 0
    for taken in demand.walks:
        mine = slots_by_program(demand.shared, taken)
        instructions += mine[0]
        nops += mine[1]
    nops += parts["nops"] - demand.total("nops")
    return Composed.of("implicit paths", parts | {"instructions": instructions, "nops": nops}, memory)


def one_by_one(demand: Demand, memory: MemoryBound) -> Composed:
    """The bound of a policy that may wait for one warp while others are eligible: everything one after the other."""
    waits = sum(each.alone for each in demand.pipelines)
    return Composed.of("one by one", *_sum(demand, memory, waits))


def strict_turns(demand: Demand, memory: MemoryBound) -> Composed:
    """The bound of strict round robin: a warp's turns come whatever the others do, so the chain's own time counts.

    ``demand`` was counted with strict turns. Whatever delays the chain may make it miss its turn.
    """
    parts, stolen = _sum(demand, memory, 0)
    missed = demand.shared.active - 1
    chain = max(each.span for each in demand.pipelines)
    parts |= {"instructions": 0, "nops": 0, "waits": chain}
    parts["writeback"] = _blocked(demand, port=SHORTEST)
    events = parts["writeback"] + demand.total("divisions") + demand.total("float_divisions") + demand.total("excess")
    # A load may find older ones at the port: each costs a round, and none is before two loads of the chain. The chain
    # is one warp unless warps meet.
    answers = [each.counts.answers for each in demand.pipelines]
    others = min(_OLDER * max(answers), sum(answers) - min(answers))
    parts["lanes"] += (sum(answers) if demand.shared.meetings else others) * (missed + 1)
    fetches, _ = _fetches(demand)
    # A miss also makes a NOP; that and its end are turns.
    parts["icache"] += 2 * fetches * (missed + 1)
    parts["memory"] += (2 * demand.total("missing") + demand.total("stored_lines") + demand.total("fences")) * missed
    parts["lanes"] += events * missed
    parts["barriers"] += demand.shared.meetings * demand.shared.active * (demand.shared.active + 1)
    if demand.shared.prefix.cycles:
        # At the end of the beginning: turns of parts at the port are rounds, and so are the NOPs of a warp that waits.
        parts["memory"] += _unfinished_turns(demand) * missed
        parts["barriers"] += (DEPTH + 1) * demand.shared.active
    return Composed.of("strict turns", parts, stolen)


def _sum(demand: Demand, memory: MemoryBound, waits: int) -> tuple[dict[str, int], MemoryBound]:
    """What all of the bounds are made of."""
    parts = dict.fromkeys(
        ("begin", "instructions", "nops", "waits", "writeback", "units", "lanes", "icache", "memory", "barriers",
         "launch"), 0
    )
    parts["begin"] = demand.shared.prefix.cycles
    config, total = demand.config, demand.total
    parts["instructions"] = total("instructions")
    parts["nops"] = total("nops") + total("started")
    parts["waits"] = waits
    parts["writeback"] = _blocked(demand)
    busy = config.latency_div * total("divisions"), config.latency_fdiv * total("float_divisions")
    parts["units"] = sum(busy) if len(demand.pipelines) > 1 else 0
    parts["lanes"] = total("excess")
    fetches, nops = _fetches(demand)
    parts["nops"] += nops
    requests = _data(demand, memory, parts)
    one = _FETCH + memory.base + config.fetch_requests
    parts["icache"] = fetches * one
    served = fetches + requests
    parts["memory"] += memory.service * served + served
    if memory.places:
        # As for the places of loads: while memory accepts nothing, as many as there are places end.
        parts["memory"] += served // memory.places * memory.base
    parts["barriers"] = _MEETING * demand.shared.meetings
    # What is under way at the end: stores of a line, one after the other, and what the units compute.
    parts["launch"] = _LAUNCH + max(2 * (STORE + memory.base) + MISS, _longest(config))
    return parts, memory


def _fetches(demand: Demand) -> tuple[int, int]:
    """Return how many lines of code are requested while a warp may wait for them, and the NOPs of these misses."""
    flushed = 1 + demand.total("flushes")
    # What was fetched in the common beginning is there.
    there = demand.shared.prefix.code if flushed == 1 and not demand.strays else frozenset()
    lines = len(demand.shared.all_code if flushed > 1 else demand.shared.code - there) * flushed
    if demand.code_fits:
        # A wrong path has as many fetches as a buffer has places. A word that changes may be a jump to another line, if
        # it is there: that is a fetch that hits, then one that misses. Each line pushes one out; until it is the oldest
        # each that comes again may push out another.
        lines += demand.strays * (DEPTH // 2) * (1 + demand.config.icache_ways)
        return lines, lines * len(demand.pipelines)
    # Any fetch may miss, also one on a wrong path: there are as many fetches as slots. The line of a wrong path may
    # come later than that of the right one, and push it out.
    fetched = demand.total("slots") + demand.total("nops")
    return fetched, fetched


def _data(demand: Demand, memory: MemoryBound, parts: dict[str, int]) -> int:
    """Adds what loads and stores of all warps cost the others; returns how many requests there are at most.

    What a warp waits for its own loads is in its own time. Here is what holds back all warps in the lookup, or at the
    ports, by the rows of memory.md, "What waits". Turns at the port of memory and in its queues are counted with all
    requests.
    """
    config, shared, misses = demand.config, demand.shared, demand.misses
    stores, missing = demand.total("stored_lines"), demand.total("missing")
    # A line that goes into the cache; then one part a cycle, each a turn at the port of the registers, too.
    parts["memory"] += _FILL * misses + 2 * missing
    # While all places for parts, or all MSHRs, are taken, as many parts come to their end within one latency.
    together = sum(min(each.counts.parts, each.counts.missing) for each in demand.pipelines)
    for places, most, number in (
        (config.load_parts, together, missing), (config.line_requests, min(together, misses), misses)
    ):
        if most > places:
            parts["memory"] += number // places * (_PART + memory.base)
    # An entry of the write buffer may wait for a load of its line, or for an older store there, before its own time.
    entry = 2 * (STORE + memory.base) + MISS
    if stores > config.store_buffer:
        parts["memory"] += stores // config.store_buffer * entry
    both = shared.stored_and_loaded()
    # A line that stays comes once; any other may be missing, and in the write buffer, at each load.
    again = missing if both is None or not all(map(shared.stays, both)) else len(both)
    parts["memory"] += min(stores, again) * entry
    # The load that is to bring a line may find it in the write buffer. So it comes later, while nothing else does.
    # It may be there since the common beginning.
    late = sum(map(shared.stays, shared.awaited if both is None else both))
    parts["memory"] += min(stores + _under_way(demand), late) * (_PART + memory.base + 2 * config.load_parts)
    parts["memory"] += demand.total("uncached") * (_PART + memory.base)
    if shared.prefix.cycles:
        parts["memory"] += _unfinished(demand, memory, entry)
    return misses + stores


def _unfinished(demand: Demand, memory: MemoryBound, entry: int) -> int:
    """From the end of the common beginning until all is over that was under way: then as if all were ready."""
    config = demand.config
    accesses, loads = _unfinished_accesses(demand)
    lines = accesses * config.threads
    under_way = _under_way(demand)
    free = under_way <= min(config.store_buffer, config.line_requests, config.load_parts)
    one = entry + _PART + memory.base
    if demand.shared.uncached:
        # What is not cached is made one after the other.
        waits = (1 + under_way) * one
    elif free:
        # A load may wait for the stores of its line, and holds back what is behind it.
        waits = one + loads * config.threads * entry
    else:
        # There may be no place for them.
        waits = (1 + lines) * one
    fetches = min(config.fetch_requests, config.warps)
    queued = (under_way + fetches) * (memory.service + 1)
    return _longest(config) + waits + _unfinished_turns(demand) + queued + _FETCH + memory.base


def _under_way(demand: Demand) -> int:
    """Requests and line accesses that may be under way when the common beginning ends."""
    prefix = demand.shared.prefix
    return prefix.requests + _unfinished_accesses(demand)[0] * demand.config.threads if prefix.cycles else 0


def _unfinished_turns(demand: Demand) -> int:
    """Each part that waits there is a turn at the port of the registers."""
    config = demand.config
    return _unfinished_accesses(demand)[0] * config.threads * (_FILL + 2) + config.load_parts


def _unfinished_accesses(demand: Demand) -> tuple[int, int]:
    """Accesses that may not be through the lookup at the end of the beginning, and the loads among them."""
    # What waits for a bank of local memory is not seen in the lookup.
    return (QUEUE + 1,) * 2 if demand.shared.local else (demand.shared.prefix.accesses, demand.shared.prefix.loads)


def _longest(config: SmConfig) -> int:
    """From the issue of what takes longest to its result, but for misses."""
    return ISSUE_TO_EXECUTE + max(config.latency_div, config.latency_fdiv, LOAD)


def _blocked(demand: Demand, port: int = _LOAD_PORT) -> int:
    """Cycles in which an instruction cannot be issued since an older one, of any warp, writes when it would.

    A result that comes late is in the way of each kind of younger instruction once. An instruction that had to wait for
    it is issued in the next cycle at the earliest, so what could have been in its way in that very cycle is not: of two
    kinds whose latencies differ by one only one counts. A load may find its port taken by what was issued before it and
    takes longer than ``port``.
    """
    results: Counter[int] = Counter()
    for pipeline in demand.pipelines:
        results.update(pipeline.counts.results)
    kinds = sorted(results)
    return sum(
        count * (_apart([each for each in kinds if each < late]) + (late > port))
        for late, count in results.items()
    )


def _apart(latencies: Sequence[int]) -> int:
    """How many of ascending numbers can be chosen of which no two differ by one."""
    chosen, last = 0, -1
    for each in latencies:
        if each > last + 1 or not chosen:
            chosen, last = chosen + 1, each
    return chosen
