"""Memory for the contract of the whole SM: the test says how long each request takes, and learns what was requested."""

import heapq
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from metronome.sim.machine.memory.model import Completion, MemoryModel
from metronome.sim.machine.memory.store import SparseMemory

__all__ = ["LINE", "Between", "Latencies", "Latency", "ListedMemory", "Request"]

LINE = 64


@dataclass(frozen=True)
class Request:
    """A line request that memory has taken, as the latency sees it."""

    cycle: int
    number: int
    line: int
    write: bool


#: Cycles from a request to its response, at least 1. A callable goes to another process: no lambda.
Latency = int | Callable[[Request], int]


@dataclass(frozen=True)
class Latencies:
    """Of the first request, of stores, of reads of some lines (by their address), and of all others."""

    usual: int
    first: int | None = None
    stores: int | None = None
    reads: Mapping[int, int] = field(default_factory=dict)

    def __call__(self, request: Request) -> int:
        if request.number == 0 and self.first is not None:
            return self.first
        if request.write:
            return self.usual if self.stores is None else self.stores
        return self.reads.get(request.line, self.usual)


@dataclass(frozen=True)
class Between:
    """Any latency from ``low`` to ``high``, so that answers come in any order."""

    rng: random.Random
    low: int
    high: int

    def __call__(self, request: Request) -> int:
        return self.rng.randint(self.low, self.high)


class ListedMemory(MemoryModel):
    """Answers requests after their latency, one a cycle, the one due first first, and lists them.

    A fetch carries what was in memory when it was requested (so that a stale one shows); the LSU's accesses happen
    when they are answered. ``requests`` are in order; ``answers``: line and tag of a fetch's answer, by its cycle.
    """

    def __init__(self, memory: SparseMemory, latency: Latency, lsu_tags: int) -> None:
        super().__init__(memory)
        self._latency = latency
        #: Tags from this one on are the LSU's.
        self._lsu_tags = lsu_tags
        #: When it is due, its number, what it is, and the answer of a fetch.
        self._pending: list[tuple[int, int, tuple, Completion | None]] = []
        self._free = 0
        self.requests: list[Request] = []
        self.answers: dict[int, tuple[int, int]] = {}

    def request(self, cycle: int, tag: int, line: int, write: bool, byte_mask: int, data: bytes) -> None:
        """See :class:`MemoryModel`."""
        request = Request(cycle, len(self.requests), line * LINE, write)
        self.requests.append(request)
        latency = self._latency if isinstance(self._latency, int) else self._latency(request)
        assert latency >= 1
        access = (tag, line, write, byte_mask, data)
        fetched = self._perform(0, *access) if tag < self._lsu_tags else None
        heapq.heappush(self._pending, (cycle + latency, request.number, access, fetched))

    @property
    def next_due(self) -> int | None:
        """See :class:`MemoryModel`."""
        return max(self._pending[0][0], self._free) if self._pending else None

    def complete(self, until: int) -> list[Completion]:
        """See :class:`MemoryModel`."""
        done = []
        while self._pending and self.next_due <= until:
            cycle = self.next_due
            _, _, access, fetched = heapq.heappop(self._pending)
            self._free = cycle + 1
            if fetched is None:
                done.append(self._perform(cycle, *access))
            else:
                done.append(fetched._replace(due=cycle))
                tag, line, *_ = access
                self.answers[cycle] = line * LINE, tag
        return done
