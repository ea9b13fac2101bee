"""Memory at its worst, for tests: any latency, any order, pauses on both channels, late writes, injected errors."""

from __future__ import annotations

import random

from .model import Console
from .random import RandomMemory
from .store import SparseMemory

__all__ = ["AdversarialMemory"]

#: One request in this many begins a pause of the request channel; it lasts at most this many cycles.
_PAUSE_ONE_IN, _LONGEST_PAUSE = 5, 200
#: A pause of the response channel, and the time between two, last at most this many cycles.
_LONGEST_SILENCE, _LONGEST_TALK = 150, 600
#: Requests that one manner of drawing latencies lasts for, at most.
_LONGEST_MOOD = 40
#: Latencies that are likely where a pipeline breaks: as fast as can be.
_FAST = 3


class AdversarialMemory(RandomMemory):
    """Seeded; each request takes 1 (the port knows no 0) to ``latency`` cycles, longer only in a response pause.

    What it does beyond :class:`sim.machine.memory.random.RandomMemory`:

    - Latencies come in moods of up to 40 requests: all fast, all slow, writes slow and reads fast (a write completes,
      and is visible, long after reads that were requested later), reads slow and writes fast, anything.
    - The request channel pauses for up to 200 cycles, after one request in five.
    - The response channel falls silent for up to 150 cycles: what is due then is due when the silence ends, at once.
    - ``error_probability``: a request is answered with an error although its address is good, as by an uncorrectable
      ECC error; a write then changes nothing.
    """

    def __init__(
        self, memory: SparseMemory, console: Console | None = None, *, latency: int = 500, seed: int,
        error_probability: float = 0.0,
    ) -> None:
        if not 0 <= error_probability <= 1:
            raise ValueError(f"error_probability must be between 0 and 1, not {error_probability!r}")
        super().__init__(memory, console, latency=latency, seed=seed)
        self.error_probability = error_probability
        #: Errors and silences come from generators of their own: a run with errors times its requests alike.
        self._errors = random.Random(f"errors/{seed}")
        self._silences = random.Random(f"silences/{seed}")
        self._silent: list[tuple[int, int]] = []
        self._silent_to = 0
        self._mood_left = 0
        self._slow_reads = self._slow_writes = False

    def _draw(self, write: bool) -> int:
        rng = self._rng
        if self._mood_left == 0:
            self._mood_left = rng.randint(1, _LONGEST_MOOD)
            self._slow_reads, self._slow_writes = rng.random() < 0.5, rng.random() < 0.5
        self._mood_left -= 1
        if rng.random() < 0.2:
            return rng.randint(1, self.latency)
        if self._slow_writes if write else self._slow_reads:
            return rng.randint(max(1, self.latency // 2), self.latency)
        return rng.randint(1, min(_FAST, self.latency))

    def _silent_until(self, cycle: int, due: int) -> int:
        """``due``, or the end of the silence that it falls into: [first, end), drawn as far as they are asked for."""
        while self._silent_to <= due:
            begin = self._silent_to + self._silences.randint(1, _LONGEST_TALK)
            end = begin + self._silences.randint(1, _LONGEST_SILENCE)
            self._silent.append((begin, end))
            self._silent_to = end
        while self._silent and self._silent[0][1] <= cycle:
            self._silent.pop(0)
        for begin, end in self._silent:
            if begin <= due < end:
                return end
        return due

    def due(self, cycle: int, line: int, write: bool) -> int:
        """A cycle after the request's, as the class says; may also begin a pause."""
        if self._rng.randrange(_PAUSE_ONE_IN) == 0:
            self.ready_from = cycle + 2 + self._rng.randrange(_LONGEST_PAUSE)
        return self._silent_until(cycle, cycle + self._draw(write))

    def fails(self) -> bool:
        """Whether an error is injected into the request at hand."""
        return self._errors.random() < self.error_probability
