"""The segments of a path (Huangfu 2017, section IV-A): instructions issued without waiting for each other."""

from __future__ import annotations

from typing import NamedTuple

from ..code.costs import Cost
from ..paths.clock import Access

__all__ = ["Segments"]


class _Segment(NamedTuple):
    """A segment and the chain before it, which paths share."""

    before: _Segment | None
    issue: int
    latency: int
    lines: int

    @property
    def total(self) -> int:
        """The length of this segment, without those before it, which chains that fork here share."""
        return self.issue + self.latency + self.lines


class Segments:
    """The segments of a path so far. An instruction that depends on another of its segment begins a new segment."""

    def __init__(self) -> None:
        self._last = _Segment(None, 0, 0, 0)
        self._written: set[int] = set()

    def copy(self) -> Segments:
        """Return an independent copy."""
        twin = Segments()
        twin._last, twin._written = self._last, set(self._written)
        return twin

    def join(self, other: Segments) -> None:
        """Join with ``other``: keep the path whose last segment is longer."""
        if other._last.total > self._last.total:
            self._last, self._written = other._last, set(other._written)

    def issue(self, cost: Cost, access: Access | None, nops: int) -> None:
        """Issue an instruction and the NOPs after it, which take slots like instructions."""
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
        """Return for each segment: instructions, longest latency without loads, and lines of the widest load."""
        found: list[tuple[int, int, int]] = []
        at: _Segment | None = self._last
        while at is not None:
            found.append((at.issue, at.latency, at.lines))
            at = at.before
        return found[::-1]
