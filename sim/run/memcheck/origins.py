"""Accesses that undefined values come from, and passed through."""

from __future__ import annotations

import numpy as np

from .finding import Side

__all__ = ["COMPUTED", "MAX_ORIGINS", "WHOLE", "Origins"]

_LANE_BITS = 5
#: The most accesses that are kept. Later ones share a number by instruction, which names the last of them.
MAX_ORIGINS = 1 << 20
#: A flag beside an origin's number: the value has since been used in a calculation, not only moved.
COMPUTED = 1 << 31
#: Likewise: no bit of it was defined when it was loaded, or it is a part of the loaded value.
WHOLE = 1 << 30
_NUMBER = WHOLE - 1


class Origins:
    """Numbers accesses from 1: a lane's number is the access's number above LANE_BITS, which hold the lane. 0: none."""

    def __init__(self, threads: int) -> None:
        self._count = 0
        self._later: dict[int, int] = {}
        self._warp = np.zeros(16, np.uint16)
        self._size = np.zeros(16, np.uint8)
        self._pc = np.zeros(16, np.uint32)
        self._cycle = np.zeros(16, np.int64)
        self._addresses = np.zeros((16, threads), np.uint32)

    def note(self, warp: int, pc: int, cycle: int, lanes: np.ndarray, addresses: np.ndarray, size: int) -> np.ndarray:
        """Return a number for each lane (uint32) for an access of ``size`` bytes at ``addresses`` by ``lanes``."""
        number = self._later.get(pc)
        if number is None:
            self._count += 1
            number = self._count
        if number > MAX_ORIGINS:
            self._later[pc] = number
        if number == len(self._warp):
            for name in ("_warp", "_size", "_pc", "_cycle", "_addresses"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        self._warp[number], self._size[number], self._pc[number], self._cycle[number] = warp, size, pc, cycle
        self._addresses[number, lanes] = addresses
        return (number << _LANE_BITS | lanes).astype(np.uint32)

    def of(self, origin: int, verb: str) -> tuple[Side, int, int]:
        """Return the access, with its address and size."""
        number, lane = (origin & _NUMBER) >> _LANE_BITS, origin & (1 << _LANE_BITS) - 1
        side = Side(int(self._warp[number]), lane, int(self._pc[number]), int(self._cycle[number]), verb)
        return side, int(self._addresses[number, lane]), int(self._size[number])

    def pcs(self, origins: np.ndarray) -> np.ndarray:
        """Return the pc of each."""
        return self._pc.take((origins & _NUMBER) >> _LANE_BITS)
