"""The command scheduler of the memory controller: FR-FCFS with open page and refresh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from .device import CLOSED, Bank, Command, Device
from .timing import DramTiming

__all__ = ["NEVER", "Entry", "Scheduler"]

NEVER = 1 << 62
#: The state of the row that a request found, counted at its RD or WR.
ROW_HIT, ROW_CLOSED, ROW_CONFLICT = "row_hits", "row_closed", "row_conflicts"


#: Data that the scheduler passes back with a request: cycle, tag, line, byte mask, data.
Payload = tuple[int, int, int, int, bytes]


class Entry:
    """A request in the controller's queue."""

    __slots__ = ("bank", "column", "found", "order", "payload", "row", "write")

    def __init__(self, order: int, bank: Bank, row: int, column: int, write: bool, payload: Payload) -> None:
        self.order = order
        self.bank = bank
        self.row = row
        self.column = column
        self.write = write
        self.payload = payload
        self.found = ROW_HIT


class Scheduler:
    """One command a clock, first ready, first come first served (FR-FCFS).

    Each bank proposes one command: RD or WR for its oldest request to the open row; if there is none, ACT or PRE for
    its oldest request. Among the proposals that timing allows earliest, RD and WR have priority over ACT and PRE, and
    then older requests over younger ones. Requests to one row, and therefore to one line, stay in order. A row stays
    open until a request to another row of the bank, or a refresh, closes it.

    Once ``cap`` RDs and WRs have overtaken the oldest request, only that request is served until its own RD or WR
    (FR-FCFS with a cap). Otherwise a loop that reads an open row could block a write forever.

    A refresh is due every tREFI. From then on no other command is issued until the refresh is done: PREA as soon as the
    open rows allow it, then REF.

    :meth:`advance` issues the commands before a clock; requests are added at or after that clock. ``done`` is called
    for each RD and WR with the entry and the clock after its last data, in ascending order of these clocks.
    """

    def __init__(
        self, timing: DramTiming, *, cap: int, done: Callable[[Entry, int], None],
        observer: Callable[[Command], None] | None = None,
    ) -> None:
        self.device = Device(timing, observer)
        self.counts: Counter[str] = Counter()
        self.clock = 0
        self.waiting: list[Entry] = []
        self._timing = timing
        self._cap = cap
        self._done = done
        self._overtaken = 0
        self._refresh_due = timing.refi
        #: For each bank with requests: the requests, oldest first, and the one that its next command serves.
        self._queues: dict[Bank, list[Entry]] = {}
        self._heads: dict[Bank, Entry] = {}
        self._choice: tuple[int, Entry, int] | None = None
        self._least = min(timing.read_latency, timing.write_latency)

    def add(self, entry: Entry) -> None:
        """Queue a request that has arrived."""
        bank = entry.bank
        self._choice = None
        self.waiting.append(entry)
        queue = self._queues.setdefault(bank, [])
        queue.append(entry)
        head = self._heads.get(bank)
        if head is None or (entry.row == bank.row and head.row != bank.row):
            self._heads[bank] = entry

    def next_done(self) -> int:
        """Return a clock before which no waiting request is done unless one is added; at least one must be waiting."""
        return (self._choice or self._choose())[2]

    def advance(self, horizon: int) -> None:
        """Issue every command before clock ``horizon``, and complete a refresh that is due before then."""
        while True:
            clock, entry, _ = self._choice or self._choose() if self.waiting else (NEVER, None, NEVER)
            if self._refresh_due <= clock:
                if self._refresh_due >= horizon:
                    break
                self._refresh()
            elif clock < horizon and entry is not None:
                self._give(clock, entry)
            else:
                break
        self.clock = max(self.clock, horizon)

    def advance_to_departure(self) -> int:
        """Issue commands until a request leaves the queue; return the clock of its RD or WR."""
        count = len(self.waiting)
        while len(self.waiting) == count:
            clock = min((self._choice or self._choose())[0], self._refresh_due)
            self.advance(clock + 1)
        return self.clock - 1

    def _choose(self) -> tuple[int, Entry, int]:
        """Return the clock of the next command, the request that it serves, and the value of :meth:`next_done`."""
        oldest = self.waiting[0]
        heads = self._heads if self._overtaken < self._cap else {oldest.bank: oldest}
        device, timing, now = self.device, self._timing, self.clock
        best_key = (NEVER, 0, 0)
        best = oldest
        done = NEVER
        for bank, entry in heads.items():
            group = bank.group
            if bank.row == entry.row:
                ready = max(now, bank.column_from, *(
                    (group.write_from, device.write_from) if entry.write else (group.read_from, device.read_from)
                ))
                after, key = self._least, (ready, 0, entry.order)
            elif bank.row == CLOSED:
                ready = max(now, bank.act_from, group.act_from, device.act_from)
                after, key = timing.rcd + self._least, (ready, 1, entry.order)
            else:
                ready = max(now, bank.precharge_from)
                after, key = timing.rp + timing.rcd + self._least, (ready, 1, entry.order)
            done = min(done, ready + after)
            if key < best_key:
                best_key, best = key, entry
        self._choice = (best_key[0], best, done)
        return self._choice

    def _give(self, clock: int, entry: Entry) -> None:
        """Issue the next command of ``entry``."""
        bank, device = entry.bank, self.device
        self._choice = None
        self.clock = clock + 1
        if bank.row == entry.row:
            end = (device.write if entry.write else device.read)(clock, bank, entry.column)
            self._leave(entry)
            self._done(entry, end)
        elif bank.row == CLOSED:
            if entry.found == ROW_HIT:
                entry.found = ROW_CLOSED
            device.activate(clock, bank, entry.row)
            self._heads[bank] = entry
        else:
            entry.found = ROW_CONFLICT
            device.precharge(clock, bank)
            self._heads[bank] = self._queues[bank][0]

    def _leave(self, entry: Entry) -> None:
        """Remove a request from the queue after its RD or WR."""
        bank = entry.bank
        self.counts["writes" if entry.write else "reads"] += 1
        self.counts[entry.found] += 1
        self._overtaken = 0 if entry is self.waiting[0] else self._overtaken + 1
        self.waiting.remove(entry)
        queue = self._queues[bank]
        queue.remove(entry)
        if not queue:
            del self._queues[bank], self._heads[bank]
            return
        self._heads[bank] = next((other for other in queue if other.row == bank.row), queue[0])

    def _refresh(self) -> None:
        self._choice = None
        self.clock = self.device.refresh(max(self._refresh_due, self.clock)) + 1
        self._refresh_due += self._timing.refi
        self.counts["refreshes"] += 1
        for bank, queue in self._queues.items():
            self._heads[bank] = queue[0]
