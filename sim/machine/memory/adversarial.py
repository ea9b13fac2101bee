"""Worst-case memory for tests: any latency, any order, pauses on both channels, late writes, injected errors."""

from __future__ import annotations

import random

from .model import Console
from .random import RandomMemory
from .store import SparseMemory

__all__ = ["AdversarialMemory"]

#: One request in _PAUSE_ONE_IN begins a pause of the request channel, of at most _LONGEST_PAUSE cycles.
_PAUSE_ONE_IN, _LONGEST_PAUSE = 5, 200
#: The longest pause of the response channel, and the longest time between two pauses, in cycles.
_LONGEST_SILENCE, _LONGEST_TALK = 150, 600
#: The most requests for which one distribution of latencies is used.
_LONGEST_MOOD = 40
#: The upper limit of fast latencies, which are likely to break a pipeline.
_FAST = 3


class AdversarialMemory(RandomMemory):
    """Seeded; each request takes 1 (the port does not allow 0) to ``latency`` cycles, longer only in a response pause.

    Beyond :class:`sim.machine.memory.random.RandomMemory`, it has these features:

    - The distribution of latencies changes after up to 40 requests: all fast, all slow, slow writes and fast reads (a
      write completes, and is visible, long after reads that were requested later), or slow reads and fast writes. In
      each, one latency in five is arbitrary.
    - The request channel pauses for up to 200 cycles, after one request in five.
    - The response channel pauses for up to 150 cycles: all responses due in the pause are due when it ends.
    - ``error_probability``: a request to a good address is answered with an error, as after an uncorrectable ECC
      error; a write then changes nothing.
    """

    def __init__(
        self, memory: SparseMemory, console: Console | None = None, *, latency: int = 500, seed: int,
        error_probability: float = 0.0,
    ) -> None:
        if not 0 <= error_probability <= 1:
            raise ValueError(f"error_probability must be between 0 and 1, not {error_probability!r}")
        super().__init__(memory, console, latency=latency, seed=seed)
        self.error_probability = error_probability
        #: Errors and pauses use separate generators, so injecting errors does not change the timing of requests.
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
        """Return ``due``, or the end of the response pause [first, end) that contains it; draws pauses on demand."""
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
        """Draw the cycle in which the request is due, as the class describes; this may also begin a pause."""
        if self._rng.randrange(_PAUSE_ONE_IN) == 0:
            self.ready_from = cycle + 2 + self._rng.randrange(_LONGEST_PAUSE)
        return self._silent_until(cycle, cycle + self._draw(write))

    def fails(self) -> bool:
        """Draw whether the current request is answered with an error."""
        return self._errors.random() < self.error_probability
