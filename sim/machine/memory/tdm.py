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
from .sm_slots import ResponseSlots, SmSlots
from .store import SparseMemory

__all__ = ["TdmMemory"]


class TdmMemory(LatencyModel):
    """The rank of :class:`.dram.model.DramMemory`, scheduled by :class:`.slots.SlotSchedule`.

    A request waits in the queue of its bank group, first come first served, for a slot of that group; one request is
    accepted in every cycle. Arrival and answer are timed as in DramMemory. ``outstanding``: the most requests in flight
    at the port (its tags), for the bound in the statistics; more cause a ValueError. ``observer`` sees every command,
    but not in the order of clocks, because groups are scheduled separately.

    With ``sms`` each SM of a GPU has slots of its own: rotation k belongs to SM k modulo ``sms``. A request waits in
    the queue of its SM and its bank group. Its answer is due in the first cycle of its SM that no earlier request has
    (:class:`.sm_slots.ResponseSlots`). When an SM is answered therefore depends on its own requests only.
    """

    def __init__(
        self, memory: SparseMemory, console: Console | None = None, *, timing: DramTiming = DDR4_2400R,
        ratio: Fraction | int = 1, mapping: AddressMapping | None = None,
        outstanding: int = 64, sms: SmSlots | None = None,
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
        #: The responses of a GPU with slots, and the SM of the current request.
        self._responses, self._sm = None if sms is None else ResponseSlots(sms), 0
        self._sms = 1 if sms is None else sms.sms
        #: For each SM and group, the number of the first rotation in which it may have a slot.
        self._free = [[0] * GROUPS for _ in range(self._sms)]
        self._refreshed = 0
        self._reads = self._writes = self._latency_sum = self._latency_max = 0

    def request(self, cycle: int, tag: int, line: int, write: bool, byte_mask: int, data: bytes) -> None:
        """See :class:`.model.MemoryModel`."""
        if self._responses is not None:
            self._sm = self._responses.slots.sm_of(tag)
        super().request(cycle, tag, line, write, byte_mask, data)

    def due(self, cycle: int, line: int, write: bool) -> int:
        """Return the cycle that follows the burst in the first free slot of the line's bank group."""
        if len(self._pending) >= self.outstanding:
            raise ValueError(f"more than {self.outstanding} requests are outstanding")
        timing, schedule = self.timing, self.schedule
        bank, row, column = self._mapping.locate(line)
        group = bank // BANKS_PER_GROUP
        free = self._free[self._sm]
        index = max(free[group], schedule.first(group, self._clock.arrival(cycle)))
        index += (self._sm - index) % self._sms
        free[group] = index + 1
        begin = schedule.begin(group, index)
        access = begin + timing.rcd
        if self._observer is not None:
            self._refresh_until(begin)
            self._observer(Command(begin, "ACT", bank, row, 0))
            self._observer(Command(access, "WRA" if write else "RDA", bank, 0, column))
        due = self._clock.due(access + (timing.write_latency if write else timing.read_latency))
        if self._responses is not None:
            due = self._responses.take(self._sm, cycle, due)
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

        ``outstanding`` is the number of requests to its bank group (of its SM) that are accepted and not answered,
        including itself: at most the tags of the port. The wait for its slot is
        (:meth:`sim.machine.memory.slots.SlotSchedule.longest_wait`):

            outstanding * rotation + ceil(outstanding / rotations) * refresh - 1

        clocks, followed by tRCD and the longer of tCL + BL and tCWL + BL to the end of the burst. In cycles, this is 1
        for the arrival plus the clocks converted by the ratio
        (:meth:`sim.machine.memory.dram.clock.ClockRatio.longest`). With DDR4_2400R (slot 19, rotation 76, refresh 480,
        116 rotations in a frame), a ratio of 1 and one request, it is 76 + 480 - 1 + 16 + 20 + 1 = 592 cycles.

        With slots for each of n SMs, a request waits for ``outstanding`` * n rotations instead, and then for a cycle of
        its SM in which no other response of the SM is presented (:meth:`longest_response_wait`).
        """
        if outstanding < 1:
            raise ValueError(f"outstanding must be at least 1, not {outstanding!r}")
        timing = self.timing
        access = timing.rcd + max(timing.read_latency, timing.write_latency)
        waits = self.schedule.longest_wait(outstanding * self._sms)
        return self._clock.longest(waits + access) + self.longest_response_wait()

    def longest_response_wait(self) -> int:
        """Return an upper bound, in cycles, on the wait of a response for a cycle of its SM; 0 without such cycles.

        While a response waits for w cycles, other responses of the SM take all its cycles. There are at least
        ``slot_cycles`` of these in each round. The others have become due meanwhile: at most all tags of the SM, and at
        most four in each rotation of the SM that the time, or the difference between reads and writes, reaches into.
        """
        if self._responses is None:
            return 0
        slots, timing, tags = self._responses.slots, self.timing, self.outstanding // self._sms
        difference = abs(timing.read_latency - timing.write_latency)

        def others(cycles: int) -> int:
            clocks = int((cycles + 1) * self._clock.ratio) + difference + 1
            return min(tags, GROUPS * (clocks // (self._sms * self.schedule.rotation) + 2)) - 1

        longest = slots.round * (tags // slots.slot_cycles + 2)
        return next(w for w in range(longest, -1, -1) if w // slots.round * slots.slot_cycles <= others(w))

    def statistics(self, cycle: int) -> dict[str, int | float]:
        """See :class:`.model.MemoryModel`; ``latency_bound`` assumes that all tags (of an SM) are in one group."""
        served = self._reads + self._writes
        arrived = self._clock.arrival(cycle)
        first = self.schedule.refresh_at(0)
        return {
            "reads": self._reads,
            "writes": self._writes,
            "refreshes": max(0, (arrived - 1 - first) // self.schedule.frame + 1),
            "latency_mean": self._latency_sum / served if served else 0.0,
            "latency_max": self._latency_max,
            "latency_bound": self.worst_case_latency(self.outstanding // self._sms),
        }
