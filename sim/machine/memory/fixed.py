"""Memory with a constant latency."""

from __future__ import annotations

from .model import Console, LatencyModel
from .store import SparseMemory

__all__ = ["FixedMemory"]


class FixedMemory(LatencyModel):
    """Every request takes ``latency`` cycles; one is accepted in every cycle."""

    def __init__(self, memory: SparseMemory, console: Console | None = None, *, latency: int) -> None:
        if latency < 1:
            raise ValueError(f"latency must be at least 1, not {latency!r}")
        super().__init__(memory, console)
        self.lookahead = latency

    def due(self, cycle: int, line: int, write: bool) -> int:
        """Return the request's cycle + the latency."""
        return cycle + self.lookahead
