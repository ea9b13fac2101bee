"""The bound of a scheduler that never idles while a warp is eligible: issue slots of all, and the longest wait of one.

The argument is in docs/wcet.md ("Work-conserving"), step by step and with what of it is proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.sim.analysis.costs import DECODED_AFTER
from metronome.sim.analysis.counts import Shared
from metronome.sim.analysis.memory_bound import MemoryBound
from metronome.sim.analysis.pipeline import Pipeline

from .implicit import slots_by_program
from .parts import Composed

__all__ = ["POLICIES", "Demand", "implicit_paths", "one_by_one", "strict_turns", "work_conserving"]

#: The policies that select a warp whenever one is eligible.
POLICIES = (
    "lrr", "gtlrr", "gtlo", "fixed", "lo", "gto", "gto_dispatch", "pta", "icount", "two_level", "variable_rate",
)
#: From a fetch that misses to the cycle in which its warp is eligible again, without the latency and other requests.
_FETCH = 4
#: From the lookup of a load that misses to that of its values at the port of the registers: the same.
_MISS = 6
#: A store in the write buffer, from its lookup to its completion: the same.
_STORE = 5
#: What goes by between the last arrival at a barrier, or the last end of a warp, and the next selection.
_MEETING = 8
#: From the launch to the first selection, and from the last instruction to the end.
_LAUNCH = 16


@dataclass(frozen=True)
class Demand:
    """What the warps ask for: by warp, and of all together.

    ``code_fits``: whether every line of code stays in the I-cache. ``misses``: accesses of loads that may miss.
    """

    config: SmConfig
    pipelines: Sequence[Pipeline]
    shared: Shared
    code_fits: bool
    misses: int

    @classmethod
    def of(cls, config: SmConfig, pipelines: Sequence[Pipeline], shared: Shared) -> Demand:
        """Whether lines stay is worked out: a set never holds more than its ways."""
        lines = max(1, config.icache_bytes // LINE_BYTES // config.icache_ways)
        code_fits = config.icache_bytes > 0 and _fits((line % lines for line in shared.code), config.icache_ways)
        return cls(config, pipelines, shared, code_fits, _misses(config, pipelines, shared))

    def total(self, name: str) -> int:
        """The sum of a field of :class:`sim.analysis.pipeline.Counts` over the warps."""
        return sum(int(getattr(each.counts, name)) for each in self.pipelines)


def _fits(sets: Iterable[int], ways: int) -> bool:
    return max(Counter(sets).values(), default=0) <= ways


def _misses(config: SmConfig, pipelines: Sequence[Pipeline], shared: Shared) -> int:
    """A line of a set that never holds more than its ways misses once, any other perhaps always."""
    if shared.loads_anywhere or not config.dcache_bytes:
        return sum(each.counts.loaded_lines for each in pipelines)
    sets = max(1, config.dcache_bytes // LINE_BYTES // config.dcache_ways)
    there = Counter(hashed(line, sets) for line in shared.loads)
    misses = 0
    for line in shared.loads:
        stays = there[hashed(line, sets)] <= config.dcache_ways and line >= config.memory_map.user // LINE_BYTES
        misses += 1 if stays else sum(each.loaded.get(line, 0) for each in pipelines)
    return misses


def hashed(line: int, sets: int) -> int:
    """The set of the data cache that a line goes to: the exclusive or of all groups of set bits (memory.md)."""
    index, bits = 0, max(1, sets.bit_length() - 1)
    while line:
        index ^= line & sets - 1
        line >>= bits
    return index


def work_conserving(demand: Demand, memory: MemoryBound) -> Composed:
    """The bound for a policy of :data:`POLICIES`: issue slots of all, and what the chain of the longest waits waits."""
    waits = max(each.idle for each in demand.pipelines)
    return Composed.of("work-conserving", *_sum(demand, memory, waits))


def implicit_paths(demand: Demand, memory: MemoryBound) -> Composed:
    """The same, with the issue slots of each warp by an integer program over its graph (:mod:`sim.analysis.ipet`)."""
    waits = max(each.idle for each in demand.pipelines)
    parts, _ = _sum(demand, memory, waits)
    instructions, nops = 0, 0
    for pipeline in demand.pipelines:
        mine = slots_by_program(demand.shared, pipeline)
        instructions += mine[0]
        nops += mine[1]
    nops += parts["nops"] - demand.total("redirected") - demand.total("turned")
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
    events = demand.total("long") + demand.total("divisions") + demand.total("float_divisions") + demand.total("excess")
    fetches, _ = _fetches(demand)
    # A miss also makes a NOP; that and its end are turns.
    parts["icache"] += 2 * fetches * (missed + 1)
    parts["memory"] += (demand.misses + demand.total("stored_lines") + demand.total("fences")) * missed
    parts["lanes"] += events * missed
    parts["barriers"] += demand.shared.meetings * demand.shared.active * (demand.shared.active + 1)
    return Composed.of("strict turns", parts, stolen)


def _sum(demand: Demand, memory: MemoryBound, waits: int) -> tuple[dict[str, int], MemoryBound]:
    """What all of the bounds are made of."""
    parts = dict.fromkeys(
        ("instructions", "nops", "waits", "writeback", "units", "lanes", "icache", "memory", "barriers", "launch"), 0
    )
    config, total = demand.config, demand.total
    parts["instructions"] = total("instructions")
    parts["nops"] = total("redirected") + total("started") + total("turned")
    parts["waits"] = waits
    parts["writeback"] = total("long")
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
    parts["barriers"] = _MEETING * demand.shared.meetings
    parts["launch"] = _LAUNCH + memory.base + config.store_buffer * (1 + memory.service)
    return parts, memory


def _fetches(demand: Demand) -> tuple[int, int]:
    """Lines of code that are requested while somebody may wait for them, and the NOPs that stand for the misses."""
    flushed = 1 + demand.total("flushes")
    lines = len(demand.shared.code)
    if demand.code_fits:
        # A NOP that stands for a miss lets up to t_F more come of the next jump.
        return lines * flushed, lines * flushed * len(demand.pipelines) * (1 + DECODED_AFTER)
    # Any fetch may miss, also one on a wrong path: there are as many fetches as slots.
    fetched = demand.total("slots") + (DECODED_AFTER + 1) * demand.total("followed")
    return fetched, fetched


def _data(demand: Demand, memory: MemoryBound, parts: dict[str, int]) -> int:
    """Adds what loads and stores cost; returns how many requests there are at most."""
    config, shared, misses = demand.config, demand.shared, demand.misses
    stores, fences = demand.total("stored_lines"), demand.total("fences")
    parts["memory"] += misses * (_MISS + memory.base + 2)
    # An entry of the write buffer may wait for a load of its line and for an older store there, before its own time.
    # Turns at the port, and in the queues of memory, are counted with all requests.
    entry = 3 * (_STORE + memory.base)
    occupied = stores * (3 * (_STORE + memory.latency) + 2 * config.store_buffer)
    parts["memory"] += min(stores * entry, -(-occupied // config.store_buffer))
    parts["memory"] += fences * entry
    both = shared.stored_and_loaded()
    if both is None or (both and misses > len(shared.loads)):
        both = misses
    parts["memory"] += min(stores, both) * entry
    return misses + stores
