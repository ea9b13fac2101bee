"""Happens-before between warps as vector clocks, and the history of accesses (FastTrack: Flanagan 2009)."""

from __future__ import annotations

import numpy as np

__all__ = ["LANE_BITS", "MAX_ACCESSES", "Order"]

#: A cell of the shadow holds the number of an access in the bits above the lane.
LANE_BITS = 5
MAX_ACCESSES = (1 << 32 - LANE_BITS) - 1


class Order:
    """Numbers accesses from 1, and decides whether two accesses are ordered.

    An access of warp w at its time t happens before an action of another warp if that warp's clock for w has reached
    t. A warp's time advances when it leaves something that other warps may wait for.

    ``warps``: of all SMs, ``of_sm`` of each (by default all). What another SM has left orders a warp from its next
    fence on (docs/memory.md, "Several SMs").
    """

    def __init__(self, warps: int, of_sm: int | None = None) -> None:
        self._clock = np.identity(warps, np.int32)
        self._of_sm = of_sm or warps
        #: The clocks of flags of other SMs, by the warp that has taken them since its last fence.
        self._taken: dict[int, np.ndarray] = {}
        self._warp = np.zeros(1 << 10, np.uint16)
        self._time = np.zeros(1 << 10, np.int32)
        self._pc = np.zeros(1 << 10, np.uint32)
        self._cycle = np.zeros(1 << 10, np.int64)
        self.count = 0
        #: The clocks left by accesses that other warps may wait for, by access number.
        self._left: dict[int, np.ndarray] = {}

    def note(self, warp: int, pc: int, cycle: int, leaves: bool) -> int:
        """Number a new access. ``leaves``: it is a flag for other warps, which never races and orders its readers."""
        self.count += 1
        number = self.count
        if number == len(self._warp):
            for name in ("_warp", "_time", "_pc", "_cycle"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self._warp[number], self._pc[number], self._cycle[number] = warp, pc, cycle
        # At time 0 it happens before everything: no access races with a flag.
        self._time[number] = 0 if leaves else self._clock[warp, warp]
        if leaves:
            self._left[number] = self._clock[warp].copy()
            self._clock[warp, warp] += 1
        return number

    def forget(self) -> None:
        """Restart numbering; the caller must clear the cells that hold numbers."""
        self.count = 0
        self._left.clear()

    def unordered(self, warp: int, numbers: np.ndarray) -> np.ndarray:
        """Which of these accesses (any shape; 0: none) do not happen before the current action of ``warp``."""
        return self._time.take(numbers) > self._clock[warp].take(self._warp.take(numbers))

    def follows(self, warp: int, number: int) -> bool:
        """Whether an access happens before the current action of ``warp``; False if any flag exists to be taken."""
        if self._left:
            return False
        return self._time.item(number) <= self._clock.item(warp, self._warp.item(number))

    def take_flags(self, warp: int, numbers: np.ndarray) -> None:
        """Order ``warp``, which has read values left by these accesses, after all that precedes flags among them."""
        if self._left:
            for number in set(numbers.tolist()) & self._left.keys():
                if int(self._warp[number]) // self._of_sm == warp // self._of_sm:
                    np.maximum(self._clock[warp], self._left[number], out=self._clock[warp])
                else:
                    self._taken[warp] = np.maximum(self._taken.get(warp, self._left[number]), self._left[number])

    def fence(self, warp: int) -> None:
        """Order ``warp`` after all that precedes the flags of other SMs that it has taken."""
        if (taken := self._taken.pop(warp, None)) is not None:
            np.maximum(self._clock[warp], taken, out=self._clock[warp])

    def meet(self, warps: list[int], others: list[int] | None = None) -> None:
        """Order ``warps`` after all earlier actions of themselves and ``others``."""
        self._clock[warps] = self._clock[[*warps, *(others or ())]].max(axis=0)
        self._clock[warps, warps] += 1

    def learn(self, warp: int, ended: list[int]) -> None:
        """Order ``warp`` after the warps in ``ended``, whose end it has seen."""
        self._clock[warp] = self._clock[[warp, *ended]].max(axis=0)

    def of(self, number: int) -> tuple[int, int, int]:
        """Return warp, pc and cycle of an access."""
        return int(self._warp[number]), int(self._pc[number]), int(self._cycle[number])
