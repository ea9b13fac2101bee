"""One path of a warp through a program: what is known on it, how it parts in two and how two become one again.

Of the lanes some are active for certain (``must``), and some may be (``may``). ``on`` holds the registers of a lane as
they are if it is active, ``off`` as they are if it is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from .conditions import ZERO, Values
from .decoding import Decoded
from .lanes import Lanes
from .memory import Memory, Overlay

__all__ = ["Access", "Clock", "Path", "Split"]


@dataclass(frozen=True)
class Access:
    """What a load or store touches. ``lines``: the lines in memory if they are known, else None; at most ``most``.

    ``turns``: the cycles that local memory serves it in, at most.
    """

    lines: tuple[int, ...] | None
    most: int
    turns: int


class Clock(Protocol):
    """What is counted along a path; a path that parts takes copies of it, and paths that meet join theirs."""

    def copy(self) -> Clock:
        """One of its own for another path."""

    def join(self, other: Clock) -> None:
        """From here on the path is this one or the ``other``."""

    def issue(self, pc: int, code: Decoded, following: int, access: Access | None) -> None:
        """An instruction, behind which the path goes on at ``following`` (-1: it waits, or ends)."""

    def meet(self) -> None:
        """The warp goes on behind a barrier, or is started."""


@dataclass(frozen=True)
class Split:
    """An open divergent split; the lanes of ``union`` and of the ``other`` side that may be, and that must be there.

    ``decided``: the pc of a branch and whether the other side takes it, if that is known.
    """

    pc: int
    visited: bool
    union: tuple[np.ndarray, np.ndarray]
    other: tuple[np.ndarray, np.ndarray]
    decided: tuple[int, bool] | None


@dataclass
class Path:
    """Where a path is, and what is known there.

    ``calls``: per call under way the entry of the function and where it returns to. ``turns``: how often the loops
    around the place have been entered again, per call, by the loop's header. ``decided``: branches whose outcome is
    known on this path, by their pc.
    """

    pc: int
    on: Lanes
    off: Lanes
    may: np.ndarray
    must: np.ndarray
    clock: Clock
    numbers: list[int]
    calls: list[tuple[int, int]] = field(default_factory=list)
    turns: list[dict[int, int]] = field(default_factory=lambda: [{}])
    splits: list[Split] = field(default_factory=list)
    overlay: Overlay = field(default_factory=dict)
    decided: dict[int, bool] = field(default_factory=dict)

    @property
    def sure(self) -> bool:
        """Whether it is known which lanes are active."""
        return bool((self.may == self.must).all())

    @property
    def shape(self) -> tuple:
        """Paths of the same shape can become one."""
        return (
            self.pc, tuple(self.calls), tuple((each.pc, each.visited, each.decided) for each in self.splits),
            tuple(sorted(self.decided.items())),
        )

    def fork(self) -> Path:
        """Another path that is the same so far."""
        return replace(
            self, on=self.on.copy(), off=self.off.copy(), may=self.may.copy(), must=self.must.copy(),
            clock=self.clock.copy(), numbers=list(self.numbers), calls=list(self.calls),
            turns=[dict(each) for each in self.turns], splits=list(self.splits), overlay=dict(self.overlay),
            decided=dict(self.decided),
        )

    def join(self, other: Path, memory: Memory, values: Values) -> None:
        """The path is this one or the ``other``, of the same shape; what only holds of one is no longer known."""
        both = self.may & other.may
        theirs = other.may & ~self.may
        on = self.on.copy()
        on.join(other.on, both)
        on.take(other.on, theirs)
        # Of a lane that is active on one path only: as it is if inactive, on the other.
        off = self.off.copy()
        off.join(other.off, ~self.must & ~other.must)
        off.take(other.off, self.must & ~other.must)
        self.on, self.off = on, off
        self.may, self.must = self.may | other.may, self.must & other.must
        self.clock.join(other.clock)
        self.numbers = [
            first if first == second else values.fresh()
            for first, second in zip(self.numbers, other.numbers, strict=True)
        ]
        self.splits = [
            replace(first, union=_either(first.union, second.union), other=_either(first.other, second.other))
            for first, second in zip(self.splits, other.splits, strict=True)
        ]
        for turns, others in zip(self.turns, other.turns, strict=True):
            for header, count in others.items():
                turns[header] = max(turns.get(header, 0), count)
        for word in self.overlay.keys() | other.overlay.keys():
            first, second = memory.word(word, self.overlay), memory.word(word, other.overlay)
            self.overlay[word] = min(first[0], second[0]), max(first[1], second[1])

    def narrow(self, may: np.ndarray, must: np.ndarray, stopped: Lanes | None = None) -> None:
        """Only lanes in ``may`` go on, those in ``must`` for certain: others stop, none begins again.

        ``stopped``: the registers of a lane that stops now, if more is known of them.
        """
        stops, left = ~must, stopped or self.on
        self.off.join(left, self.may & ~self.must & stops)
        self.off.take(left, self.must & stops)
        self._be(may, must)

    def widen(self, may: np.ndarray, must: np.ndarray, values: Values) -> None:
        """The active lanes are any in ``may``, and those in ``must``: some may begin again, others stop."""
        before = self.on.copy()
        perhaps = self.may & ~self.must
        self.on.join(self.off, perhaps & may)
        self.on.take(self.off, ~self.may & may)
        self.off.join(before, perhaps & ~must)
        self.off.take(before, self.must & ~must)
        self.numbers = [ZERO, *(values.fresh() for _ in self.numbers[1:])]
        self._be(may, must)

    def _be(self, may: np.ndarray, must: np.ndarray) -> None:
        # A warp that goes on has an active lane.
        self.may, self.must = may.copy(), may.copy() if may.sum() == 1 else must.copy()


def _either(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return first[0] | second[0], first[1] & second[1]
