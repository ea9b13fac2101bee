"""The epoch of each warp, which makes the order of accesses respect program order, barriers and warp starts.

See docs/analyze.md, "The order".
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Epochs"]


class Epochs:
    """The epoch of each warp, and the pc of its last access in that epoch."""

    def __init__(self, warps: int) -> None:
        self._epoch = [0] * warps
        self._last = [-1] * warps

    def access(self, warp: int, pc: int) -> int:
        """Return the epoch of an access: a new one unless the pc is above that of the last access (a loop)."""
        if pc <= self._last[warp]:
            self._epoch[warp] += 1
        self._last[warp] = pc
        return self._epoch[warp]

    def meet(self, warps: Sequence[int], others: Sequence[int] = ()) -> None:
        """Order ``warps`` after everything that they and ``others`` have done."""
        epoch = 1 + max(self._epoch[warp] for warp in (*warps, *others))
        for warp in warps:
            self._epoch[warp], self._last[warp] = epoch, -1

    def turn(self) -> None:
        """Begin or end the measured region: order all warps after everything so far."""
        self.meet(range(len(self._epoch)))
