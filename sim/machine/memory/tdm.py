"""A predictable memory controller: DDR4 with closed page and fixed slots, whose worst latency is a formula.

It follows the bank privatisation of the PRET DRAM controller (Reineke 2011): a resource is a bank group, each gets its
turn whether it is used or not, and no access to one group delays an access to another.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .dram.clock import ClockRatio
from .dram.device import ALL_BANKS, Command
from .dram.mapping import BANKS_PER_GROUP, GROUPS, AddressMapping
from .dram.timing import DDR4_2400R, DramTiming
from .model import Console, LatencyModel
from .slots import SlotSchedule
from .store import SparseMemory

__all__ = ["TdmMemory"]


class TdmMemory(LatencyModel):
    """The rank of :class:`.dram.model.DramMemory`, scheduled by :class:`.slots.SlotSchedule`.

    A request waits in the queue of its bank group, first come first served, for a slot of that group; one request is
    accepted in every cycle. Arrival and answer are timed as in DramMemory. ``outstanding``: the most requests in flight
    at the port (its tags), for the bound in the statistics; more cause a ValueError. ``observer`` sees every command,
    but not in the order of clocks, because groups are scheduled separately.
    """

    def __init__(
        self, memory: SparseMemory, console: Console | None = None, *, timing: DramTiming = DDR4_2400R,
        ratio: Fraction | int = 1, mapping: AddressMapping | None = None,
        outstanding: int = 64,
        observer: Callable[[Command], None] | None = None,
    ) -> None:
        if outstanding < 1:
            raise ValueError(f"outstanding must be at least 1, not {outstanding!r}")
        super().__init__(memory, console)
        self.timing = timing
        self.outstanding = outstanding
        self.schedule = SlotSchedule(timing)
        self._clock = ClockRatio(ratio)
        self._mapping = mapping or AddressMapping()
        self._observer = observer
        self.lookahead = self._clock.latency(timing.rcd + min(timing.read_latency, timing.write_latency))
        #: For each group, the number of its first free slot.
        self._free = [0] * GROUPS
        self._refreshed = 0
        self._reads = self._writes = self._latency_sum = self._latency_max = 0

    def due(self, cycle: int, line: int, write: bool) -> int:
        """Return the cycle that follows the burst in the first free slot of the line's bank group."""
        if len(self._pending) >= self.outstanding:
            raise ValueError(f"more than {self.outstanding} requests are outstanding")
        timing, schedule = self.timing, self.schedule
        bank, row, column = self._mapping.locate(line)
        group = bank // BANKS_PER_GROUP
        index = max(self._free[group], schedule.first(group, self._clock.arrival(cycle)))
        self._free[group] = index + 1
        begin = schedule.begin(group, index)
        access = begin + timing.rcd
        if self._observer is not None:
            self._refresh_until(begin)
            self._observer(Command(begin, "ACT", bank, row, 0))
            self._observer(Command(access, "WRA" if write else "RDA", bank, 0, column))
        due = self._clock.due(access + (timing.write_latency if write else timing.read_latency))
        if write:
            self._writes += 1
        else:
            self._reads += 1
        self._latency_sum += due - cycle
        self._latency_max = max(self._latency_max, due - cycle)
        return due

    def _refresh_until(self, clock: int) -> None:
        """Report the refreshes before ``clock`` to the observer."""
        assert self._observer is not None
        while self.schedule.refresh_at(self._refreshed) < clock:
            self._observer(Command(self.schedule.refresh_at(self._refreshed), "REF", ALL_BANKS, 0, 0))
            self._refreshed += 1

    def worst_case_latency(self, outstanding: int) -> int:
        """Return an upper bound, in cycles, on the time from the acceptance of a request to its answer.

        ``outstanding`` is the number of requests to its bank group that are accepted and not answered, including
        itself: at most the tags of the port. The wait for its slot is
        (:meth:`sim.machine.memory.slots.SlotSchedule.longest_wait`):

            outstanding * rotation + ceil(outstanding / rotations) * refresh - 1

        clocks, followed by tRCD and the longer of tCL + BL and tCWL + BL to the end of the burst. In cycles, this is 1
        for the arrival plus the clocks converted by the ratio
        (:meth:`sim.machine.memory.dram.clock.ClockRatio.longest`). With DDR4_2400R (slot 19, rotation 76, refresh 480,
        116 rotations in a frame), a ratio of 1 and one request, it is 76 + 480 - 1 + 16 + 20 + 1 = 592 cycles.
        """
        if outstanding < 1:
            raise ValueError(f"outstanding must be at least 1, not {outstanding!r}")
        timing = self.timing
        access = timing.rcd + max(timing.read_latency, timing.write_latency)
        return self._clock.longest(self.schedule.longest_wait(outstanding) + access)

    def statistics(self, cycle: int) -> dict[str, int | float]:
        """See :class:`.model.MemoryModel`; ``latency_bound`` assumes ``outstanding`` requests to one group."""
        served = self._reads + self._writes
        arrived = self._clock.arrival(cycle)
        first = self.schedule.refresh_at(0)
        return {
            "reads": self._reads,
            "writes": self._writes,
            "refreshes": max(0, (arrived - 1 - first) // self.schedule.frame + 1),
            "latency_mean": self._latency_sum / served if served else 0.0,
            "latency_max": self._latency_max,
            "latency_bound": self.worst_case_latency(self.outstanding),
        }
