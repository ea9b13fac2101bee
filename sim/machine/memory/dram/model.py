"""DDR4 memory model at the SM's port, with banks, FR-FCFS scheduling and refresh (design.md section 5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction

from ..model import Completion, Console, MemoryModel
from ..store import SparseMemory
from .clock import ClockRatio
from .device import Command
from .mapping import AddressMapping
from .scheduler import Entry, Scheduler
from .timing import DDR4_2400R, QUEUE_DEPTH, DramTiming

__all__ = ["DramMemory"]

#: The most RDs and WRs that may overtake the oldest request.
CAP = 16


class DramMemory(MemoryModel):
    """A channel of 64 bits with one rank of DDR4: a line is one burst.

    A request accepted in cycle c arrives at the first memory clock that begins at c + 1 or later, and can be answered
    in the first cycle that begins after its burst. With a ratio of 1 and no contention, the latency is 1 + tCL + BL for
    an open row, tRCD more for a closed bank, and tRP + tRCD more if another row is open. A write has tCWL instead of
    tCL, and is visible at the end of its burst.

    A request is in the queue until its RD or WR; while ``queue_depth`` requests are, the port is not ready. ``ratio``:
    memory clocks in a cycle. ``observer`` sees every command.
    """

    def __init__(
        self, memory: SparseMemory, console: Console | None = None, *, timing: DramTiming = DDR4_2400R,
        ratio: Fraction | int = 1, mapping: AddressMapping | None = None,
        queue_depth: int = QUEUE_DEPTH, cap: int = CAP,
        observer: Callable[[Command], None] | None = None,
    ) -> None:
        if queue_depth < 1:
            raise ValueError(f"queue_depth must be at least 1, not {queue_depth!r}")
        if cap < 0:
            raise ValueError(f"cap must be at least 0, not {cap!r}")
        super().__init__(memory, console)
        self.timing = timing
        self._clock = ClockRatio(ratio)
        self._mapping = mapping or AddressMapping()
        self._depth = queue_depth
        self._scheduler = Scheduler(timing, cap=cap, done=self._done, observer=observer)
        self.lookahead = self._clock.latency(min(timing.read_latency, timing.write_latency))
        self.room = queue_depth
        self._order = 0
        self._decided_from = 0
        #: Scheduled requests, each with the cycle in which it is due, in the order of bursts.
        self._pending: deque[tuple[int, int, int, bool, int, bytes]] = deque()
        self._latency_sum = self._latency_max = 0

    def _done(self, entry: Entry, end: int) -> None:
        cycle, tag, line, byte_mask, data = entry.payload
        due = self._clock.due(end)
        self._latency_sum += due - cycle
        self._latency_max = max(self._latency_max, due - cycle)
        self._pending.append((due, tag, line, entry.write, byte_mask, data))

    def request(self, cycle: int, tag: int, line: int, write: bool, byte_mask: int, data: bytes) -> None:
        """See :class:`sim.machine.memory.model.MemoryModel`.

        Raises
        ------
        ValueError
            If the request cannot have been accepted in ``cycle``: the model is not ready, or has already scheduled
            that cycle.
        """
        if cycle < self.ready_from or cycle < self._decided_from:
            raise ValueError(f"cycle must be at least {max(self.ready_from, self._decided_from)}, not {cycle!r}")
        scheduler = self._scheduler
        scheduler.advance(self._clock.arrival(cycle))
        bank, row, column = self._mapping.locate(line)
        payload = (cycle, tag, line, byte_mask, data)
        scheduler.add(Entry(self._order, scheduler.device.banks[bank], row, column, write, payload))
        self._order += 1
        self._decided_from = cycle
        if len(scheduler.waiting) >= self._depth:
            # No request can arrive before a place is free, so the schedule until then is final.
            self.ready_from = max(cycle + 1, self._clock.accepts_after(scheduler.advance_to_departure()))
        self.room = self._depth - len(scheduler.waiting)

    @property
    def next_due(self) -> int | None:
        """See :class:`sim.machine.memory.model.MemoryModel`."""
        if self._pending:
            return self._pending[0][0]
        return self._clock.due(self._scheduler.next_done()) if self._scheduler.waiting else None

    def complete(self, until: int) -> list[Completion]:
        """See :class:`..model.MemoryModel`. All requests of cycles up to ``until - lookahead`` must have been added."""
        self._decided_from = max(self._decided_from, until - self.lookahead + 1)
        self._scheduler.advance(self._clock.arrival(self._decided_from))
        self.room = self._depth - len(self._scheduler.waiting)
        pending = self._pending
        done = []
        while pending and pending[0][0] <= until:
            done.append(self._perform(*pending.popleft()))
        return done

    def statistics(self, cycle: int) -> dict[str, int | float]:
        """See :class:`sim.machine.memory.model.MemoryModel`."""
        self._scheduler.advance(self._clock.arrival(cycle))
        counts = self._scheduler.counts
        served = counts["reads"] + counts["writes"]
        names = ("reads", "writes", "row_hits", "row_closed", "row_conflicts", "refreshes")
        return {
            **{name: counts[name] for name in names},
            "latency_mean": self._latency_sum / served if served else 0.0,
            "latency_max": self._latency_max,
        }
