"""The interface of memory models: they take line requests and return completions, ordered by the cycle when due.

A model is plain Python and independent of a simulator. The owner of the clock passes it the requests in the order in
which they were accepted, and collects the completions that are due. A model runs only when a request is pending.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from metronome.hdl.config import LINE_BYTES, MemoryMap

from .store import AccessError, SparseMemory

__all__ = ["UNLIMITED", "Completion", "Console", "LatencyModel", "MemoryModel"]

#: More requests than any port can have in flight.
UNLIMITED = 1 << 30
_NO_DATA = bytes(LINE_BYTES)


class Completion(NamedTuple):
    """The answer to one request: ``data`` is a line (zeros for a write or an error)."""

    due: int
    tag: int
    error: bool
    data: bytes


class Console:
    """The console of isa.md: a byte stored to a slot is a character of that slot's line.

    A line is passed to ``write`` at its newline, and the rest at :meth:`flush`, so that characters printed by the lanes
    of a warp at the same time stay in separate lines. A byte that is not UTF-8 becomes a surrogate in the text
    (Python's ``surrogateescape``), so that no data are lost.
    """

    def __init__(self, memory_map: MemoryMap, write: Callable[[str], None]) -> None:
        self.line = memory_map.console // LINE_BYTES
        self._first = memory_map.console % LINE_BYTES
        self._slots = [bytearray() for _ in range(memory_map.console_bytes)]
        self._write = write

    def store(self, byte_mask: int, data: bytes) -> None:
        """Print the bytes of a write to the console's line."""
        for slot, text in enumerate(self._slots):
            if byte_mask >> (self._first + slot) & 1:
                text.append(data[self._first + slot])
                if text[-1] == ord("\n"):
                    self._emit(text)

    def flush(self) -> None:
        """Print the lines that have not ended with a newline yet, lowest slot first."""
        for text in self._slots:
            if text:
                text.append(ord("\n"))
                self._emit(text)

    def _emit(self, text: bytearray) -> None:
        self._write(text.decode("utf-8", "surrogateescape"))
        text.clear()


class MemoryModel(ABC):
    """Base class of the models of memory at the SM's port.

    A request accepted in cycle c with latency L is due in cycle c + L: its response can be presented from that cycle
    on (L = 1: in the next cycle). A write becomes visible, and a read takes its data, in the cycle in which it is due.
    An access outside memory is answered with an error and changes nothing.

    In the order of cycles, the owner of the clock calls :meth:`request` for each accepted request and then
    :meth:`complete`. Both calls may be late: a request may be passed up to ``min(lookahead, room)`` cycles after it was
    accepted, and the answers of complete(now + lookahead) are due after now. At complete(until), a model therefore
    decides only what requests accepted after ``until - lookahead`` cannot change; every completion it returns is final.

    Attributes
    ----------
    lookahead
        The smallest latency that the model can give, at least 1: completions due up to ``now + lookahead`` cannot
        be changed by requests accepted after ``now``.
    ready_from
        The first cycle in which the model accepts another request; read after every call of :meth:`request`.
    room
        The number of requests that the model accepts from ``ready_from`` on before it must be called, at least 1.
    unwritten
        A line to watch, set by the caller: its first access sets this to None, and ``read_unwritten`` if it is a read.
    """

    lookahead: int = 1
    ready_from: int = 0
    room: int = UNLIMITED
    unwritten: int | None = None
    read_unwritten: bool = False

    def __init__(self, memory: SparseMemory, console: Console | None = None) -> None:
        self.memory = memory
        self.console = console

    @abstractmethod
    def request(self, cycle: int, tag: int, line: int, write: bool, byte_mask: int, data: bytes) -> None:
        """Take a request that was accepted in ``cycle`` (not below that of the request before it).

        ``line`` is the byte address divided by the line size; ``byte_mask`` (bit i: byte i) and ``data`` (a line) are
        used for writes.
        """

    @property
    @abstractmethod
    def next_due(self) -> int | None:
        """A cycle before which no request completes unless more arrive; None if none is pending.

        It is the cycle of the next completion if the model knows it, and is above ``until`` of the last
        :meth:`complete`.
        """

    @abstractmethod
    def complete(self, until: int) -> list[Completion]:
        """Carry out, in order, every request that is due in cycle ``until`` or before."""

    def statistics(self, cycle: int) -> dict[str, int | float] | None:
        """Return the counters of the model up to ``cycle``, or None if it has none; all requests due must be completed.

        See docs/memory.md for the names.
        """
        return None

    def _perform(
        self, due: int, tag: int, line: int, write: bool, byte_mask: int, data: bytes, fails: bool = False
    ) -> Completion:
        """Carry out one request now; if ``fails``, answer it like an access outside memory."""
        if fails:
            return Completion(due, tag, True, _NO_DATA)
        if line == self.unwritten:
            self.unwritten, self.read_unwritten = None, not write
        try:
            if not write:
                return Completion(due, tag, False, self.memory.read_line(line * LINE_BYTES))
            self.memory.write_line(line * LINE_BYTES, data, byte_mask)
        except AccessError:
            return Completion(due, tag, True, _NO_DATA)
        if self.console is not None and line == self.console.line:
            self.console.store(byte_mask, data)
        return Completion(due, tag, False, _NO_DATA)


class LatencyModel(MemoryModel):
    """A model that knows a request's latency on arrival. Requests due in one cycle complete in the order of tags."""

    def __init__(self, memory: SparseMemory, console: Console | None = None) -> None:
        super().__init__(memory, console)
        self._pending: list[tuple[int, int, int, bool, int, bytes, bool]] = []

    @abstractmethod
    def due(self, cycle: int, line: int, write: bool) -> int:
        """Return the cycle in which a request accepted in ``cycle`` is due: at least ``cycle + lookahead``."""

    def fails(self) -> bool:
        """Whether to answer the current request with an error, whatever its address."""
        return False

    def request(self, cycle: int, tag: int, line: int, write: bool, byte_mask: int, data: bytes) -> None:
        """See :class:`MemoryModel`."""
        due = self.due(cycle, line, write)
        if due < cycle + self.lookahead:
            raise ValueError(f"{type(self).__name__}.due says cycle {due} to a request of cycle {cycle}: it must be at "
                             f"least {cycle + self.lookahead} (lookahead is {self.lookahead})")
        heapq.heappush(self._pending, (due, tag, line, write, byte_mask, data, self.fails()))

    @property
    def next_due(self) -> int | None:
        """The cycle of the next completion; None if nothing is pending."""
        return self._pending[0][0] if self._pending else None

    def complete(self, until: int) -> list[Completion]:
        """See :class:`MemoryModel`."""
        pending = self._pending
        done = []
        while pending and pending[0][0] <= until:
            done.append(self._perform(*heapq.heappop(pending)))
        return done
