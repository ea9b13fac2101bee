"""Conversion between cycles of the SM and clocks of the memory."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["ClockRatio"]


class ClockRatio:
    """An exact ratio of memory clocks to cycles: cycle c begins at memory time ``c * ratio``, clock k at time k.

    A request accepted in cycle c has arrived at the end of that cycle; data that are complete at clock k can be
    presented in the first cycle that begins at that time or later.
    """

    def __init__(self, ratio: Fraction | int) -> None:
        if ratio <= 0:
            raise ValueError(f"the clock ratio must be above 0, not {ratio!r}")
        self.ratio = Fraction(ratio)
        self._clocks, self._cycles = self.ratio.numerator, self.ratio.denominator

    def arrival(self, cycle: int) -> int:
        """Return the first clock in which the memory can act on a request accepted in ``cycle``."""
        return -(-(cycle + 1) * self._clocks // self._cycles)

    def due(self, clock: int) -> int:
        """Return the first cycle that can use data available from ``clock`` on."""
        return -(-clock * self._cycles // self._clocks)

    def latency(self, clocks: int) -> int:
        """Return the smallest latency in cycles of a request that takes ``clocks`` from its arrival."""
        return 1 + self.due(clocks)

    def longest(self, clocks: int) -> int:
        """Return the largest latency in cycles of a request that takes ``clocks`` from its arrival.

        With the ratio clocks/cycles in lowest terms, the arrival waits for a clock at most 1 - 1/cycles clocks after
        the end of the cycle, and the response waits for a cycle at most 1 - 1/clocks cycles.
        """
        waits = (clocks + 1 - Fraction(1, self._cycles)) / self.ratio + 1 - Fraction(1, self._clocks)
        return 1 + waits.__floor__()

    def accepts_after(self, clock: int) -> int:
        """Return the first cycle whose requests arrive after ``clock``."""
        return clock * self._cycles // self._clocks
