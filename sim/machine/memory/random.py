"""Memory with random latency, responses out of order, and pauses in which no request is accepted."""

from __future__ import annotations

import random

from .model import Console, LatencyModel
from .store import SparseMemory

__all__ = ["LONGEST_PAUSE", "RandomMemory"]

#: A pause follows one request in _PAUSE_ONE_IN, and lasts at most LONGEST_PAUSE cycles.
_PAUSE_ONE_IN = 4
LONGEST_PAUSE = 12


class RandomMemory(LatencyModel):
    """Each request takes 1 to ``latency`` cycles, all equally likely: later ones overtake earlier ones.

    The same seed and requests give the same answers.
    """

    def __init__(self, memory: SparseMemory, console: Console | None = None, *, latency: int, seed: int) -> None:
        if latency < 1:
            raise ValueError(f"latency must be at least 1, not {latency!r}")
        super().__init__(memory, console)
        self.latency = latency
        self._rng = random.Random(seed)

    def due(self, cycle: int, line: int, write: bool) -> int:
        """Draw the cycle in which the request is due; this may also begin a pause."""
        if self._rng.randrange(_PAUSE_ONE_IN) == 0:
            self.ready_from = cycle + 2 + self._rng.randrange(LONGEST_PAUSE)
        return cycle + self._rng.randint(1, self.latency)
