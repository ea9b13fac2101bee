"""The segments of a path (Huangfu 2017, section IV-A): instructions that are issued together."""

from __future__ import annotations

from typing import NamedTuple

from ..code.costs import Cost
from ..paths.clock import Access

__all__ = ["Segments"]


class _Segment(NamedTuple):
    """The last of a chain of segments, which paths share."""

    before: _Segment | None
    issue: int
    latency: int
    lines: int

    @property
    def total(self) -> int:
        """How long this one is; chains that part here share what is before."""
        return self.issue + self.latency + self.lines


class Segments:
    """What depends on an instruction of a segment begins another one."""

    def __init__(self) -> None:
        self._last = _Segment(None, 0, 0, 0)
        self._written: set[int] = set()

    def copy(self) -> Segments:
        """The same on another path."""
        twin = Segments()
        twin._last, twin._written = self._last, set(self._written)
        return twin

    def join(self, other: Segments) -> None:
        """From here on the path is this one or the ``other``: that whose last segment is longer."""
        if other._last.total > self._last.total:
            self._last, self._written = other._last, set(other._written)

    def issue(self, cost: Cost, access: Access | None, nops: int) -> None:
        """An instruction is issued, and so many NOPs behind it: they are issued like instructions."""
        if self._written.intersection(cost.reads):
            self._last = _Segment(self._last, 0, 0, 0)
            self._written.clear()
        before, issue, latency, lines = self._last
        if access is not None and cost.load:
            lines = max(lines, access.most)
        else:
            latency = max(latency, cost.result)
        self._last = _Segment(before, issue + 1 + nops, latency, lines)
        if cost.writes is not None:
            self._written.add(cost.writes)

    def all(self) -> list[tuple[int, int, int]]:
        """Instructions that are issued together, the longest latency but of loads, the lines of the widest load."""
        found: list[tuple[int, int, int]] = []
        at: _Segment | None = self._last
        while at is not None:
            found.append((at.issue, at.latency, at.lines))
            at = at.before
        return found[::-1]
