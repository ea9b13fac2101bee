"""Registers of one warp with partly unknown contents: a value or an interval for each lane.

Values are the 32 bits of a register; :mod:`sim.analysis.code.numbers` defines intervals. The golden model itself
computes with known values, on its own registers of the warp.
"""

from __future__ import annotations

import numpy as np

from .numbers import TOP, Interval, hull, unsigned

__all__ = ["MOST", "REGISTERS", "TOP", "Lanes", "outside"]

#: Integer and floating-point registers, and the one that receives writes to x0 (sim.machine.golden.view).
REGISTERS = 65
#: The step of a known value: differences are 0, a multiple of every power of two.
MOST = 31


class Lanes:
    """Arrays of registers x lanes: ``values`` (uint32), or the interval [``low``, ``high``] (int64) where ``unknown``.

    ``dirty``: a bit for each register with an unknown lane. ``steps``: for each register, s such that each unknown lane
    is ``low`` plus a multiple of 2**s.
    """

    __slots__ = ("dirty", "high", "low", "steps", "unknown", "values")

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.unknown = np.zeros(values.shape, bool)
        self.low = np.zeros(values.shape, np.int64)
        self.high = np.zeros(values.shape, np.int64)
        self.steps = np.zeros(len(values), np.int64)
        self.dirty = 0

    def copy(self) -> Lanes:
        """Return an independent copy."""
        twin = Lanes(self.values.copy())
        twin.dirty = self.dirty
        if self.dirty:
            twin.unknown, twin.low, twin.high = self.unknown.copy(), self.low.copy(), self.high.copy()
            twin.steps = self.steps.copy()
        return twin

    def interval(self, register: int) -> Interval:
        """Return the least and the greatest value of each lane as unsigned numbers (int64)."""
        return unsigned(self.numbers(register))

    def numbers(self, register: int) -> Interval:
        """Return the interval of each lane, in any form."""
        values = self.values[register].astype(np.int64)
        if not self.dirty >> register & 1:
            return values, values
        unknown = self.unknown[register]
        return np.where(unknown, self.low[register], values), np.where(unknown, self.high[register], values)

    def known(self, register: int, lanes: np.ndarray) -> bool:
        """Return whether all ``lanes`` are known."""
        return not (self.dirty >> register & 1 and bool((self.unknown[register] & lanes).any()))

    def settle(self, register: int, lanes: np.ndarray) -> None:
        """Mark ``lanes`` as known, after the golden model wrote them."""
        if self.dirty >> register & 1:
            self.unknown[register][lanes] = False
            if not self.unknown[register].any():
                self.dirty &= ~(1 << register)

    def step(self, register: int) -> int:
        """Return s such that the values of a lane differ by multiples of 2**s."""
        return int(self.steps[register]) if self.dirty >> register & 1 else MOST

    def put(self, register: int, lanes: np.ndarray, low: np.ndarray, high: np.ndarray, step: int = 0) -> None:
        """Write intervals to ``lanes``; an interval of one number is a known value.

        ``step``: s such that the values are ``low`` plus multiples of 2**s.
        """
        if register >= REGISTERS - 1:
            return
        unknown = low != high
        others = self.unknown[register] & ~lanes
        self.steps[register] = min(step, self.steps[register]) if others.any() else step
        np.copyto(self.values[register], low, where=lanes & ~unknown, casting="unsafe")
        np.copyto(self.unknown[register], unknown, where=lanes)
        np.copyto(self.low[register], low, where=lanes)
        np.copyto(self.high[register], high, where=lanes)
        if self.unknown[register].any():
            self.dirty |= 1 << register
        else:
            self.dirty &= ~(1 << register)

    def join(self, other: Lanes, lanes: np.ndarray) -> None:
        """Join the values of ``lanes`` with those of ``other``."""
        differs = ((self.values != other.values) | self.unknown | other.unknown) & lanes
        for register in np.flatnonzero(differs.any(axis=1)).tolist():
            if register == REGISTERS - 1:
                continue
            mine, theirs = self.numbers(register), other.numbers(register)
            low, high = hull(mine, theirs)
            lanes_here = differs[register]
            apart = int(np.bitwise_or.reduce((mine[0] ^ theirs[0])[lanes_here]))
            step = min(self.step(register), other.step(register), (apart & -apart).bit_length() - 1 if apart else MOST)
            # Steps count from the least value, which differs in another order of numbers.
            if not bool((((low - mine[0]) & TOP == 0) | ((low - theirs[0]) & TOP == 0))[lanes_here].all()):
                step = 0
            self.put(register, lanes_here, low, high, step)

    def take(self, other: Lanes, lanes: np.ndarray) -> None:
        """Copy the values of ``lanes`` from ``other``."""
        np.copyto(self.values, other.values, where=lanes)
        if self.dirty or other.dirty:
            self.steps = np.minimum(self._all_steps(), other._all_steps())
            np.copyto(self.unknown, other.unknown, where=lanes)
            np.copyto(self.low, other.low, where=lanes)
            np.copyto(self.high, other.high, where=lanes)
            rows = np.packbits(self.unknown.any(axis=1), bitorder="little")
            self.dirty = int.from_bytes(rows.tobytes(), "little")

    def _all_steps(self) -> np.ndarray:
        return np.where(self.unknown.any(axis=1), self.steps, MOST)


def outside(off: Lanes, must: np.ndarray, other: Lanes, other_must: np.ndarray) -> Lanes:
    """Join the registers of inactive lanes of two paths; ignore each path's lanes that must be active on it."""
    result = off.copy()
    result.join(other, ~must & ~other_must)
    result.take(other, must & ~other_must)
    return result
