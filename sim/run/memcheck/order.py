"""Happens-before between warps as vector clocks, and the history of accesses (FastTrack: Flanagan 2009)."""

from __future__ import annotations

import numpy as np

__all__ = ["MAX_ACCESSES", "Order"]

#: A cell of the shadow holds the number of an access above a lane's.
LANE_BITS = 5
MAX_ACCESSES = (1 << 32 - LANE_BITS) - 1


class Order:
    """Numbers accesses from 1 on, and says of two of them whether something orders them.

    An access of warp w at its time t happens before what another warp does as soon as that one's clock for w has
    reached t. Time passes for a warp when it leaves something that others may wait for.
    """

    def __init__(self, warps: int) -> None:
        self._clock = np.identity(warps, np.int32)
        self._warp = np.zeros(1 << 10, np.uint8)
        self._time = np.zeros(1 << 10, np.int32)
        self._pc = np.zeros(1 << 10, np.uint32)
        self._cycle = np.zeros(1 << 10, np.int64)
        self.count = 0
        #: The clocks that accesses which others may wait for have left, by their numbers.
        self._left: dict[int, np.ndarray] = {}

    def note(self, warp: int, pc: int, cycle: int, leaves: bool) -> int:
        """The number of a new access. ``leaves``: a flag for others, which is no race and orders what reads it."""
        self.count += 1
        number = self.count
        if number == len(self._warp):
            for name in ("_warp", "_time", "_pc", "_cycle"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self._warp[number], self._pc[number], self._cycle[number] = warp, pc, cycle
        # At time 0 it happens before everything: nobody races with a flag.
        self._time[number] = 0 if leaves else self._clock[warp, warp]
        if leaves:
            self._left[number] = self._clock[warp].copy()
            self._clock[warp, warp] += 1
        return number

    def forget(self) -> None:
        """Begin again to number; the cells that hold numbers must be cleared."""
        self.count = 0
        self._left.clear()

    def unordered(self, warp: int, numbers: np.ndarray) -> np.ndarray:
        """Which of these accesses (any shape; 0: none) do not happen before what ``warp`` does now."""
        return self._time.take(numbers) > self._clock[warp].take(self._warp.take(numbers))

    def follows(self, warp: int, number: int) -> bool:
        """Whether one access happens before what ``warp`` does now; not told of a flag, which it may take."""
        if self._left:
            return False
        return self._time.item(number) <= self._clock.item(warp, self._warp.item(number))

    def take_flags(self, warp: int, numbers: np.ndarray) -> None:
        """``warp`` has read what these accesses have left: of flags among them it knows all that is before them."""
        if self._left:
            for number in set(numbers.tolist()) & self._left.keys():
                np.maximum(self._clock[warp], self._left[number], out=self._clock[warp])

    def meet(self, warps: list[int], others: list[int] | None = None) -> None:
        """``warps`` go on behind all that they, and ``others``, have done so far."""
        self._clock[warps] = self._clock[[*warps, *(others or ())]].max(axis=0)
        self._clock[warps, warps] += 1

    def learn(self, warp: int, ended: list[int]) -> None:
        """``warp`` has seen that the warps in ``ended`` have ended."""
        self._clock[warp] = self._clock[[warp, *ended]].max(axis=0)

    def of(self, number: int) -> tuple[int, int, int]:
        """Warp, pc and cycle of an access."""
        return int(self._warp[number]), int(self._pc[number]), int(self._cycle[number])
