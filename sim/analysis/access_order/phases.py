"""The epoch of each warp: what makes the order of accesses extend program order, barriers, and starts of warps.

docs/analyze.md, "The order".
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Epochs"]


class Epochs:
    """By warp: its epoch, and the pc of its last access in that epoch."""

    def __init__(self, warps: int) -> None:
        self._epoch = [0] * warps
        self._last = [-1] * warps

    def access(self, warp: int, pc: int) -> int:
        """The epoch of an access: the next one if the warp has not come to it from a lower pc (a loop)."""
        if pc <= self._last[warp]:
            self._epoch[warp] += 1
        self._last[warp] = pc
        return self._epoch[warp]

    def meet(self, warps: Sequence[int], others: Sequence[int] = ()) -> None:
        """``warps`` go on behind all that they, and ``others``, have done so far."""
        epoch = 1 + max(self._epoch[warp] for warp in (*warps, *others))
        for warp in warps:
            self._epoch[warp], self._last[warp] = epoch, -1

    def turn(self) -> None:
        """The measured region begins or ends: all go on above all that was."""
        self.meet(range(len(self._epoch)))
