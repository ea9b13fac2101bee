"""Bounds for work-conserving schedulers: the issue slots of all warps, plus the longest wait of one.

docs/wcet.md ("Work-conserving") has the argument step by step, and says which steps are proved.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metronome.hdl.config import LINE_BYTES, SmConfig

from ....predict.model.records import CHOSEN, QUEUE
from ...code.costs import DEPTH, MISS, load_distance, longest_result, shortest_write
from ...code.refusals import RefusedError
from ..counts import SharedState
from ..memory_bound import MemoryBound
from ..pipeline import Pipeline
from .implicit import EdgeCounts, slots_by_program, walk_of
from .parts import Composed

__all__ = ["FETCH", "POLICIES", "Demand", "implicit_paths", "one_by_one", "strict_turns", "work_conserving"]

#: The policies that select a warp whenever one is eligible.
POLICIES = ("lrr", "gtlrr", "gtlo", "fixed", "lo", "gto", "gto_dispatch", "pta", "icount", "two_level", "variable_rate")
#: Cycles from a fetch that misses until its warp is eligible again, without memory's latency and other requests.
FETCH = 4
#: Likewise, cycles of a part of a load that misses, from its lookup to the port of the registers.
_PART = 6
#: Cycles that other accesses may wait in the lookup while a line is written to the cache.
_FILL = 2
#: The most loads ahead of another one that have not reached the port: those that gather before a waiting lookup (one
#: more than the queue holds), and those in the stages after it.
_OLDER = QUEUE + 3
#: More of them if there are two cycles to the lookup: line accesses in between, and one in front of the banks.
_BETWEEN = CHOSEN + 1
#: Cycles from the last arrival at a barrier, or the last end of a warp, to the next selection.
_RELEASE = 8
#: From the launch to the first selection, and from the last instruction to the end.
_LAUNCH = 16


@dataclass(frozen=True)
class Demand:
    """The demand of each warp, and of all warps together.

    - ``code_fits``: whether every line of code stays in the I-cache, except for fetches on wrong paths through words
      that may change. ``strays``: the number of such wrong paths.
    - ``misses``: the most lines that loads request.
    """

    config: SmConfig
    pipelines: Sequence[Pipeline]
    shared: SharedState
    code_fits: bool
    misses: int
    strays: int

    @classmethod
    def of(cls, config: SmConfig, pipelines: Sequence[Pipeline], shared: SharedState) -> Demand:
        """Collect the demand; check whether lines stay in the caches: no set may need more lines than it has ways."""
        shared.end_fetches()
        code_fits = cls.fits(config, shared.all_code)
        if not code_fits and config.icache_bytes and shared.active > 1:
            raise RefusedError(
                "its code does not fit into the I-cache: a warp may evict a line of another warp before that warp "
                "has fetched from it, any number of times"
            )
        changed = {pc for pc, places in shared.followed.items() if shared.program.changes(places)}
        strays = sum(count for each in pipelines for (pc, _), count in each.edges.items() if pc in changed)
        return cls(config, pipelines, shared, code_fits, _misses(pipelines, shared), strays)

    @staticmethod
    def fits(config: SmConfig, code: Iterable[int]) -> bool:
        """Return whether no set of the I-cache needs more of the lines ``code`` than it has ways."""
        lines = max(1, config.icache_bytes // LINE_BYTES // config.icache_ways)
        sets = Counter(line % lines for line in code)
        return config.icache_bytes > 0 and max(sets.values(), default=0) <= config.icache_ways

    def total(self, name: str) -> int:
        """Return the sum of a field of :class:`sim.analysis.bound.counts.WarpCounts` over the warps."""
        return sum(int(getattr(each.counts, name)) for each in self.pipelines)

    @functools.cached_property
    def chain_slots(self) -> int:
        """The issue slots of the partition in which the longest chain is, from one meeting of warps to the next.

        If warps meet without the others, it is not known which slots fall between two meetings: then those of all.
        """
        if self.shared.apart:
            return self.total("slots")
        slots = 0
        for phase in [*self.shared.phases, {each.warp: each.slots for each in self.pipelines}]:
            of_partition: Counter[int] = Counter()
            for warp, count in phase.items():
                of_partition[warp % self.config.schedulers] += count
            slots += max(of_partition.values())
        return slots

    @functools.cached_property
    def walks(self) -> list[EdgeCounts]:
        """The most expensive walk of each warp."""
        return [walk_of(self.shared, pipeline) for pipeline in self.pipelines]


def _misses(pipelines: Sequence[Pipeline], shared: SharedState) -> int:
    """Return the most requests by loads: one for each line that stays, or one for each access."""
    missing = sum(each.counts.missing for each in pipelines)
    once = shared.gone is not None and all(map(shared.stays, shared.loads))
    return min(missing, len(shared.awaited)) if once else missing


def work_conserving(demand: Demand, memory: MemoryBound) -> Composed:
    """Compose for a policy of :data:`POLICIES`: issue slots of all warps, and the waits of the longest chain."""
    waits = max(each.idle for each in demand.pipelines)
    return Composed.of("work-conserving", *_sum(demand, memory, waits))


def implicit_paths(demand: Demand, memory: MemoryBound) -> Composed:
    """Compose for these policies, with each warp's issue slots by an integer program over its graph (:mod:`..ipet`)."""
    # The walk may have fewer slots than the maxima over paths, so the waits must hold for any path.
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
    """Compose for a policy that may wait for one warp while others are eligible: all waits add up."""
    waits = sum(each.alone for each in demand.pipelines)
    parts, stolen = _sum(demand, memory, waits)
    if demand.config.schedulers > 1:
        # No other warp of the partition takes the turn of the warp that it waits for.
        parts["turns"] = (demand.config.schedulers - 1) * demand.total("turns")
    return Composed.of("one by one", parts, stolen)


def strict_turns(demand: Demand, memory: MemoryBound) -> Composed:
    """Compose for strict round robin: a warp's turns do not depend on the others, so the chain's own time counts.

    ``demand`` was counted with strict turns. Any delay of the chain may make it miss its turn.
    """
    parts, stolen = _sum(demand, memory, 0)
    missed = demand.shared.active - 1
    chain = max(each.span for each in demand.pipelines)
    parts |= {"instructions": 0, "nops": 0, "waits": chain}
    parts["writeback"] = _blocked(demand, port=shortest_write(demand.config))
    events = parts["writeback"] + demand.total("divisions") + demand.total("float_divisions") + demand.total("excess")
    # Each older load at the port costs a round, and is ahead of only one load of the chain. The chain is one warp
    # unless warps meet.
    answers = [each.counts.answers for each in demand.pipelines]
    older = _OLDER + _BETWEEN * demand.shared.costs.late
    others = min(older * max(answers), sum(answers) - min(answers))
    parts["lanes"] += (sum(answers) if demand.shared.releases else others) * (missed + 1)
    fetches, _ = _fetches(demand)
    # A miss also causes a NOP. The NOP and the end of the miss each take a turn.
    parts["icache"] += 2 * fetches * (missed + 1)
    parts["memory"] += (2 * demand.total("missing") + demand.total("stored_lines") + demand.total("fences")) * missed
    parts["lanes"] += events * missed
    parts["barriers"] += demand.shared.releases * demand.shared.active * (demand.shared.active + 1)
    if demand.shared.prefix.cycles:
        # After the common beginning, each part at the port and each NOP of a waiting warp may cost a round.
        parts["memory"] += _unfinished_turns(demand) * missed
        parts["barriers"] += (DEPTH + 1) * demand.shared.active
    return Composed.of("strict turns", parts, stolen)


def _sum(demand: Demand, memory: MemoryBound, waits: int) -> tuple[dict[str, int], MemoryBound]:
    """Return the parts common to all bounds, and ``memory``."""
    parts = dict.fromkeys(
        ("begin", "instructions", "nops", "waits", "writeback", "units", "lanes", "icache", "memory", "barriers",
         "launch"), 0
    )
    parts["begin"] = demand.shared.prefix.cycles
    config, total = demand.config, demand.total
    parts["instructions"] = total("instructions")
    parts["nops"] = total("nops") + total("started")
    parts["waits"] = waits
    parts["writeback"] = _blocked(demand, port=load_distance(demand.config) - 1)
    busy = config.latency_div * total("divisions"), config.latency_fdiv * total("float_divisions")
    parts["units"] = sum(busy) if len(demand.pipelines) > 1 else 0
    parts["lanes"] = total("excess")
    fetches, nops = _fetches(demand)
    parts["nops"] += nops
    if memory.l2:
        parts["memory"] += 2 * (_PART + memory.base) * _conflicts(demand, fetches)
    partitions = config.schedulers
    if partitions > 1:
        # A warp may lose each of its turns to another of its partition.
        parts["turns"] = (partitions - 1) * (demand.chain_slots + nops)
    requests = _data(demand, memory, parts)
    # The requests of the partitions' I-caches are offered to memory in turn.
    one = FETCH + memory.base + config.fetch_requests * partitions + partitions - 1
    parts["icache"] = fetches * one
    served = fetches + requests
    parts["memory"] += memory.service * served + served
    if memory.places:
        # While memory accepts no request, as many requests as it has places are answered.
        parts["memory"] += served // memory.places * memory.base
    parts["barriers"] = _RELEASE * demand.shared.releases
    # In flight at the end: stores to one line, one after the other, and operations in the units.
    parts["launch"] = _LAUNCH + max(2 * (demand.shared.costs.store + memory.base) + MISS, longest_result(config))
    return parts, memory


def _fetches(demand: Demand) -> tuple[int, int]:
    """Return the number of code lines requested while a warp may wait for them, and the NOPs of these misses."""
    flushed = 1 + demand.total("flushes")
    # Lines fetched in the common beginning are in the cache.
    there = demand.shared.prefix.code if flushed == 1 and not demand.strays else frozenset()
    # Each partition has an I-cache.
    partitions = demand.config.schedulers
    lines = len(demand.shared.all_code if flushed > 1 else demand.shared.code - there) * flushed
    if demand.code_fits:
        # A wrong path has as many fetches as the buffer has places. A changed word may be a jump to another line: one
        # fetch that hits, and one that misses. Each such line evicts another, and until it is the oldest in its set,
        # each line that returns may evict one more.
        lines += demand.strays * (DEPTH // 2) * (1 + demand.config.icache_ways)
        return lines * partitions, lines * len(demand.pipelines)
    # Any fetch may miss, even on a wrong path, and there are as many fetches as slots. The line of a wrong path may
    # arrive after that of the right path, and evict it.
    fetched = demand.total("slots") + demand.total("nops")
    return fetched, fetched


def _conflicts(demand: Demand, fetches: int) -> int:
    """Return the most fetches of a line that is stored to. In an L2, such a fetch and a store may wait for each other.

    The load/store unit itself never requests a line while it has another request for it.
    """
    lines = sum(map(demand.shared.may_store, demand.shared.all_code))
    once = demand.code_fits and not demand.strays
    return min(fetches, lines * (1 + demand.total("flushes"))) if once else fetches * (lines > 0)


def _data(demand: Demand, memory: MemoryBound, parts: dict[str, int]) -> int:
    """Add the delays that loads and stores cause to other warps; return the most requests.

    The time of each warp includes the waits for its own loads. Added here are the delays of all warps in the lookup and
    at the ports, by the rows of memory.md, "Lookup waits". Turns at memory's port and in its queues are counted with
    the requests.
    """
    config, shared, misses = demand.config, demand.shared, demand.misses
    stores, missing = demand.total("stored_lines"), demand.total("missing")
    # A line is written to the cache; then its parts follow, one per cycle, each with a turn at the registers' port.
    # With two cycles to the lookup, the next line is accepted a cycle later.
    late = shared.costs.late
    parts["memory"] += ((_FILL + late) * misses + 2 * missing) * (1 + memory.l2)
    # While all places for parts, or all MSHRs, are in use, as many parts end within one latency.
    together = sum(min(each.counts.parts, each.counts.missing) for each in demand.pipelines)
    for places, most, number in (
        (config.load_parts, together, missing), (config.line_requests, min(together, misses), misses)
    ):
        if most > places:
            parts["memory"] += number // places * (_PART + memory.base)
    # A write buffer entry may first wait for a load of its line, or for an older store to it.
    entry = 2 * (shared.costs.store + memory.base) + MISS
    if stores > config.store_buffer:
        parts["memory"] += stores // config.store_buffer * entry
    both = shared.stored_and_loaded()
    # A line that stays is requested once; any other may be missing, and in the write buffer, at each load.
    again = missing if both is None or not all(map(shared.stays, both)) else len(both)
    parts["memory"] += min(stores, again) * entry
    # A load that should bring a line may be served from the write buffer, perhaps by a store of the common beginning.
    # Then another load brings the line later.
    delayed = sum(map(shared.stays, shared.awaited if both is None else both))
    parts["memory"] += min(stores + _under_way(demand), delayed) * (_PART + memory.base + 2 * config.load_parts)
    if both is None or both or _under_way(demand):
        # The write buffer then compares its bytes with those of the load for a cycle, in which the load waits. It also
        # waits for each entry that is read for memory, and for each line that arrives.
        parts["memory"] += late * (demand.total("loaded_lines") + stores + misses)
    parts["memory"] += demand.total("uncached") * (_PART + memory.base)
    if shared.prefix.cycles:
        parts["memory"] += _unfinished(demand, memory, entry)
    return misses + stores


def _unfinished(demand: Demand, memory: MemoryBound, entry: int) -> int:
    """Return the cycles after the common beginning until all operations in flight have ended."""
    config = demand.config
    accesses, loads = _unfinished_accesses(demand)
    lines = accesses * config.threads
    under_way = _under_way(demand)
    free = under_way <= min(config.store_buffer, config.line_requests, config.load_parts)
    one = entry + _PART + memory.base
    if demand.shared.uncached:
        # Uncached accesses are made one after the other.
        waits = (1 + under_way) * one
    elif free:
        # A load may wait for stores to its line, and then delays the accesses after it.
        waits = one + loads * config.threads * entry
    else:
        # There may be no free place for the operations in flight.
        waits = (1 + lines) * one
    fetches = min(config.fetch_requests, config.warps)
    queued = (under_way + fetches) * (memory.service + 1)
    return longest_result(config) + waits + _unfinished_turns(demand) + queued + FETCH + memory.base


def _under_way(demand: Demand) -> int:
    """Return the requests and line accesses that may be in flight when the common beginning ends."""
    prefix = demand.shared.prefix
    return prefix.requests + _unfinished_accesses(demand)[0] * demand.config.threads if prefix.cycles else 0


def _unfinished_turns(demand: Demand) -> int:
    """Return the turns at the registers' port of the parts that wait when the common beginning ends."""
    config = demand.config
    return _unfinished_accesses(demand)[0] * config.threads * (_FILL + 2) + config.load_parts


def _unfinished_accesses(demand: Demand) -> tuple[int, int]:
    """Return the accesses, and loads among them, that may not have left the lookup when the common beginning ends."""
    # Accesses that wait for a bank of local memory do not appear in the lookup.
    waiting = QUEUE + 1 + _BETWEEN * demand.shared.costs.late
    return (waiting,) * 2 if demand.shared.local else (demand.shared.prefix.accesses, demand.shared.prefix.loads)


def _blocked(demand: Demand, *, port: int) -> int:
    """Return the cycles in which an instruction cannot issue because an older one, of any warp, uses its write slot.

    A late result blocks each kind of younger instruction at most once. A blocked instruction issues in the next cycle
    at the earliest, so of two kinds whose latencies differ by one, only one is blocked. A load may find its port used
    by an instruction that was issued earlier and takes longer than ``port``.
    """
    results: Counter[int] = Counter()
    for pipeline in demand.pipelines:
        results.update(pipeline.counts.results)
    kinds = sorted(results)
    return sum(
        count * (_apart([each for each in kinds if each < late]) + (late > port)) for late, count in results.items()
    )


def _apart(latencies: Sequence[int]) -> int:
    """Return how many of ascending numbers can be chosen so that no two differ by one."""
    chosen, last = 0, -1
    for each in latencies:
        if each > last + 1 or not chosen:
            chosen, last = chosen + 1, each
    return chosen
