"""Comparison of the misses and the lookup order of a run with the accesses of a listing."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

from .estimate import Estimate, Mismatch, compare
from .records import Access, Listing

__all__ = ["Lookups", "Measured", "Verified", "measured"]


@dataclass(frozen=True)
class Lookups:
    """The line accesses of a run in the order of their lookups; ``missed``: loads that made a request."""

    warp: np.ndarray
    line: np.ndarray
    store: np.ndarray
    missed: np.ndarray

    @classmethod
    def of_hardware(cls, events: np.ndarray) -> Lookups:
        """Read ``RunResult.events``."""
        event = events["lookup"][events["lookup"]["access"] != 0]
        answered = event["hit"] | event["merge"] | event["forward"]
        return cls(event["warp"], event["line"], event["store"], (event["store"] == 0) & (answered == 0))

    @classmethod
    def of_prediction(cls, events: np.ndarray) -> Lookups:
        """Read the events of a :class:`sim.run.types.Watcher`."""
        event = events[events["access"] != 0]
        answered = event["hit"] | event["merge"] | event["forward"]
        return cls(event["access_warp"], event["line"], event["store"], (event["store"] == 0) & (answered == 0))


@dataclass
class Measured:
    """The ``misses`` of loads in the region by pc, and deviations from the listing.

    ``unlisted``: lookups that are not the warp's next access in the listing. ``disorder``: accesses of the region that
    were not looked up in the order of the listing.
    """

    misses: Counter[int] = field(default_factory=Counter)
    unlisted: int = 0
    disorder: int = 0


def measured(listing: Listing, lookups: Lookups) -> Measured:
    """Match each warp's lookups with its accesses, in program order."""
    waiting: dict[int, deque[tuple[Access, int]]] = {}
    for access in listing.sequence:
        waiting.setdefault(access.warp, deque()).extend((access, line) for line in access.lines)
    found = Measured()
    seen: list[Access] = []
    columns = (each.tolist() for each in (lookups.warp, lookups.line, lookups.store, lookups.missed))
    for warp, line, store, missed in zip(*columns, strict=True):
        mine = waiting.get(warp)
        if not mine or (mine[0][1], mine[0][0].store) != (line, bool(store)):
            found.unlisted += 1
            continue
        access, _ = mine.popleft()
        if access.listed:
            found.misses[access.pc] += bool(missed)
            seen += [] if seen and seen[-1] is access else [access]
    found.unlisted += sum(len(left) for left in waiting.values())
    found.disorder = sum(one is not other for one, other in zip(seen, listing.accesses, strict=False))
    found.disorder += abs(len(seen) - len(listing.accesses))
    return found


@dataclass(frozen=True)
class Verified:
    """Comparison of a run with its estimate: ``pcs`` whose misses differ, and the deviations in :class:`Measured`."""

    pcs: list[Mismatch]
    unlisted: int
    disorder: int
    misses: int

    @classmethod
    def of(cls, expected: Estimate, found: Measured) -> Verified:
        """Compare ``found`` with the ``expected`` estimate."""
        return cls(compare(expected, found.misses), found.unlisted, found.disorder, found.misses.total())

    @property
    def mismatches(self) -> int:
        """The number of differences."""
        return len(self.pcs) + self.unlisted + self.disorder
