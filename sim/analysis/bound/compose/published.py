"""Published formulas, evaluated with the latencies of this machine for comparison.

They leave out several effects of this machine (docs/wcet.md, "The published formulas"), so they do not bound its time.
"""

from __future__ import annotations

from collections.abc import Callable

from ...code.costs import load_distance
from ..memory_bound import MemoryBound
from .parts import Composed
from .work_conserving import Demand

__all__ = ["multi_phase", "segments", "segments_at_rate", "segments_with_misses"]


def multi_phase(demand: Demand, memory: MemoryBound) -> Composed:
    """Compose as in the abstract of Jeanmougin 2025: a warp alone, and the execution phases of the others.

    The full paper was not available. The warp alone takes its issue slots and its waits, including misses of its loads.
    Execution phases are issue slots.
    """
    alone = [each.time + each.lines.ranged for each in demand.pipelines]
    slots = [each.counts.slots for each in demand.pipelines]
    worst = max(range(len(alone)), key=lambda at: alone[at] - slots[at])
    others = sum(slots) - slots[worst]
    parts = {"waits": alone[worst] - slots[worst], "instructions": slots[worst] + others}
    return Composed("multi-phase (Jeanmougin 2025)", sum(parts.values()), parts, holds=False)


def segments(demand: Demand, memory: MemoryBound) -> Composed:
    """Compose by Huangfu 2017, equations 1 to 3, which ignore the data cache."""
    return _by_segments(demand, "segments (Huangfu 2017)", lambda lines: lines + memory.base + lines)


def segments_with_misses(demand: Demand, memory: MemoryBound) -> Composed:
    """Compose by Huangfu 2017, equations 1, 2 and 4, with the highest miss rate of loads."""
    loads = demand.total("loaded_lines")
    return segments_at_rate(demand.misses / loads if loads else 0)(demand, memory)


def segments_at_rate(rate: float) -> Callable[[Demand, MemoryBound], Composed]:
    """Compose by equations 1, 2 and 4, at the miss ``rate`` of a list (:mod:`sim.analysis.access_order.estimate`)."""
    def compose(demand: Demand, memory: MemoryBound) -> Composed:
        name = "segments with a miss rate (Huangfu 2017)"
        return _by_segments(demand, name, lambda lines: lines + rate * (memory.base + lines))

    return compose


def _by_segments(demand: Demand, name: str, latency: Callable[[int], float]) -> Composed:
    """Apply equations 1 and 2: a segment starts once the previous one has executed and all other warps had a turn."""
    warps = [each.segments.all() for each in demand.pipelines]
    hit = load_distance(demand.config)
    begins = [0.0] * len(warps)
    ends = [0.0] * len(warps)
    # The time at which the last segment, in the order of turns, has issued.
    turn = 0.0
    for number in range(max(len(each) for each in warps)):
        for warp, its in enumerate(warps):
            if number < len(its):
                issue, execute, lines = its[number]
                begins[warp] = max(turn, ends[warp])
                turn = begins[warp] + issue
                ends[warp] = turn + max(float(execute), hit + latency(lines) if lines else 0.0)
    cycles = int(max(ends)) + 1
    return Composed(name, cycles, {"instructions": cycles}, holds=False)
