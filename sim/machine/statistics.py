"""Statistics of a simulation in the measured region, beyond the SM's own counters (docs/counters.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.waits import LookupWait

__all__ = ["REASONS", "LineAccesses", "LoadLatency", "RegionStatistics", "WarpCycles"]


@dataclass(frozen=True, kw_only=True)
class LineAccesses:
    """Outcomes of the accesses to lines of global memory, for loads or for stores.

    ``instructions``: the number of accesses that were the first of their instruction. A load's access is one of
    ``hits`` (in the data cache), ``merges`` (it shares an earlier request), ``forwards`` (the write buffer has its
    bytes), ``misses`` (it makes a request) and ``uncached``. A store's access may hit the cache, and may merge with a
    line in the write buffer; it is never a forward or a miss.
    """

    instructions: int
    accesses: int
    uncached: int
    hits: int
    merges: int
    forwards: int = 0
    misses: int = 0

    @property
    def per_instruction(self) -> float | None:
        """The mean number of lines for each instruction (the coalescing rate); None without an instruction."""
        return self.accesses / self.instructions if self.instructions else None


@dataclass(frozen=True, kw_only=True)
class LoadLatency:
    """Cycles from stage X to the last write of the register, for loads that write one (global and local memory).

    ``histogram[i]``: the number of loads with a latency of 2**i to 2**(i + 1) - 1.
    """

    total: int
    maximum: int
    histogram: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of loads."""
        return sum(self.histogram)

    @property
    def mean(self) -> float | None:
        """The mean latency in cycles; None without a load."""
        return self.total / self.count if self.count else None

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON; the histogram's keys are the lowest latencies of its bins, without empty bins."""
        return {
            "count": self.count, "mean": self.mean, "max": self.maximum if self.count else None,
            "histogram": {str(1 << number): count for number, count in enumerate(self.histogram) if count},
        }


@dataclass(frozen=True, kw_only=True)
class WarpCycles:
    """The cycles of the region by the state of one warp; they add up to the length of the region.

    ``not_selected``: eligible, but another warp or none was selected. ``inactive``: not active, or the SM has stopped
    at a fault. ``stalls``: by the warp's own reason (:data:`REASONS`).
    """

    instructions: int
    nops: int
    not_selected: int
    inactive: int
    stalls: Mapping[StallReason, int]

    @property
    def total(self) -> int:
        """The sum of all, which is the length of the region in cycles."""
        return self.instructions + self.nops + self.not_selected + self.inactive + sum(self.stalls.values())

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON, with ``stalls`` by name."""
        return {
            "instructions": self.instructions, "nops": self.nops, "not_selected": self.not_selected,
            "inactive": self.inactive, "stalls": {reason.name.lower(): count for reason, count in self.stalls.items()},
        }


#: The reasons that a single warp can have.
REASONS = tuple(
    reason for reason in StallReason if reason not in (StallReason.NONE, StallReason.IDLE, StallReason.POLICY)
)


@dataclass(frozen=True, kw_only=True)
class RegionStatistics:
    """All statistics. ``waits``: cycles in which an access waited in the lookup, by reason; ``warps``: by number."""

    loads: LineAccesses
    stores: LineAccesses
    waits: Mapping[LookupWait, int]
    load_latency: LoadLatency
    warps: tuple[WarpCycles, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the fields of a run's JSON (docs/counters.md)."""
        stores = asdict(self.stores)
        del stores["forwards"], stores["misses"]
        return {
            "lines": {
                "loads": asdict(self.loads),
                "stores": stores,
                "waits": {reason.name.lower(): count for reason, count in self.waits.items()},
            },
            "coalescing": {
                "lines_per_load": self.loads.per_instruction, "lines_per_store": self.stores.per_instruction,
            },
            "load_latency": self.load_latency.as_json(),
            "warps": [{"warp": number, **warp.as_json()} for number, warp in enumerate(self.warps)],
        }
