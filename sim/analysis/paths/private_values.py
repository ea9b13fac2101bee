"""Values private to a lane whose activity is unknown: the words it stored, and its registers after it left a loop.

If it is unknown whether a lane stores to a word of its stack, the word may hold its old value or the new one. But a
lane that later executes a load of that word is active, so it reads the value that it stored. Likewise, it may be
unknown when a lane left a loop at a ``pred``. A lane that runs the code after the loop was active before it, so its
registers are those that it had when it left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..code.lanes import Lanes, outside
from ..code.numbers import word_hull

__all__ = ["LaneValue", "LaneValues", "MaskSnapshot", "PathMerge", "PrivateWords"]


@dataclass(frozen=True, eq=False)
class LaneValue:
    """The value of a word that ``lane`` stored: a number from ``low`` to ``high`` (sim.analysis.code.numbers).

    It is valid if the lane was active at that store, until another lane stores to the word. Two values are equal only
    if they are the same object.
    """

    lane: int
    low: int
    high: int


#: Word address -> the value that its lane stored.
LaneValues = dict[int, LaneValue]


class PrivateWords:
    """The private words of lanes on one path.

    - ``active``: the words of active lanes.
    - ``other_sides``: for each open split, the words of lanes on its other side.
    - ``before_stop``: for each side, and for the code outside all splits, ``active`` as it was when a lane of that side
      first stopped; None if none has. Words that are unchanged since then are valid for all lanes of the side.
    """

    def __init__(self) -> None:
        self.active: LaneValues = {}
        self.other_sides: list[LaneValues] = []
        self.before_stop: list[LaneValues | None] = [None]

    def copy(self) -> PrivateWords:
        """Return an independent copy."""
        twin = PrivateWords()
        twin.active, twin.before_stop = dict(self.active), list(self.before_stop)
        twin.other_sides = [dict(each) for each in self.other_sides]
        return twin

    def join(self, other: PrivateWords, merge: PathMerge) -> None:
        """Keep only the words that are valid on both paths."""
        self.before_stop = [
            None if mine is None and theirs is None
            else merge.common(self.active if mine is None else mine, other.active if theirs is None else theirs)
            for mine, theirs in zip(self.before_stop, other.before_stop, strict=True)
        ]
        self.active = merge.common(self.active, other.active)
        self.other_sides = [
            merge.common(mine, theirs) for mine, theirs in zip(self.other_sides, other.other_sides, strict=True)
        ]

    def keep(self, word: int, lane: int | None, own: LaneValue | None) -> None:
        """Record a store to ``word`` by ``lane``, or by several lanes (None); ``own``: its private value, if known."""
        if own is None:
            self.active.pop(word, None)
        else:
            self.active[word] = own
        # An active lane is on no other side, so its own words there stay valid.
        for each in self.other_sides:
            if word in each and each[word].lane != lane:
                del each[word]

    def forget(self, first: int, end: int) -> None:
        """Drop the words of [first, end): any lane may have stored there."""
        for words in (self.active, *self.other_sides):
            for word in [each for each in words if first <= each < end]:
                del words[word]

    def clear(self) -> None:
        """Drop all private words, once they are written to memory."""
        for each in (self.active, *self.other_sides):
            each.clear()

    def stop(self) -> None:
        """Record that lanes of this side may stop."""
        if self.before_stop[-1] is None:
            self.before_stop[-1] = dict(self.active)

    def resume(self, snapshot: MaskSnapshot) -> None:
        """Reactivate the lanes that were active at the snapshot: keep only words unchanged since."""
        self.active = {word: own for word, own in self.active.items() if snapshot.active.get(word) is own}
        self.before_stop[-1] = snapshot.before_stop

    def begin_split(self) -> None:
        """Begin a divergent split with one side."""
        self.other_sides.append(dict(self.active))
        self.before_stop.append(None)

    def switch_side(self) -> None:
        """Switch to the other side of the innermost split."""
        self.active, self.other_sides[-1] = self.other_sides[-1], self.whole()
        self.before_stop[-1] = None

    def end_split(self) -> None:
        """End the innermost split."""
        self.active = PathMerge().common(self.other_sides.pop(), self.whole())
        self.before_stop.pop()

    def whole(self) -> LaneValues:
        """Return the words that are valid for all lanes of this side, including those that have stopped."""
        before = self.before_stop[-1]
        if before is None:
            return self.active
        return {word: own for word, own in self.active.items() if before.get(word) is own}


class PathMerge:
    """Merges the private words of two paths, or of the two sides of a split."""

    def __init__(self) -> None:
        self._joined: dict[tuple[LaneValue, LaneValue], LaneValue] = {}

    def common(self, first: LaneValues, second: LaneValues) -> LaneValues:
        """Return the words private to the same lane on both. The same pair of stores always gives the same object."""
        return {
            word: self._join(own, second[word]) for word, own in first.items()
            if word in second and second[word].lane == own.lane
        }

    def _join(self, first: LaneValue, second: LaneValue) -> LaneValue:
        if first is second:
            return first
        joined = self._joined.get((first, second))
        if joined is None:
            low, high = word_hull((first.low, first.high), (second.low, second.high))
            joined = LaneValue(first.lane, low, high)
            self._joined[first, second] = joined
        return joined


@dataclass(frozen=True)
class MaskSnapshot:
    """The state at a read of the thread mask, and the lanes that have stopped since.

    - ``may``, ``must``: the lanes that may be, and must be, in the mask.
    - ``off``: the registers of lanes that are not in the mask.
    - ``active``: the private words of lanes in the mask.
    - ``before_stop``: as in :class:`PrivateWords`.
    - ``stopped``: the lanes that may have stopped since; ``left``: their registers when they stopped.
    """

    may: np.ndarray
    must: np.ndarray
    off: Lanes
    active: LaneValues
    before_stop: LaneValues | None
    stopped: np.ndarray
    left: Lanes | None = None

    def stop(self, on: Lanes, lanes: np.ndarray) -> MaskSnapshot:
        """Record that ``lanes`` may stop, with the registers ``on``."""
        if self.left is None:
            left = on.copy()
        else:
            left = self.left.copy()
            left.join(on, lanes & self.stopped)
            left.take(on, lanes & ~self.stopped)
        return replace(self, stopped=self.stopped | lanes, left=left)

    @property
    def unstopped(self) -> LaneValues:
        """The private words before any lane stopped."""
        return self.active if self.before_stop is None else self.before_stop

    def join(self, other: MaskSnapshot, merge: PathMerge) -> MaskSnapshot:
        """Return a snapshot that is valid on both paths."""
        left = self.left
        if left is None:
            left = other.left
        elif other.left is not None:
            left = left.copy()
            left.join(other.left, self.stopped & other.stopped)
            left.take(other.left, ~self.stopped & other.stopped)
        before_stop = None
        if self.before_stop is not None or other.before_stop is not None:
            before_stop = merge.common(self.unstopped, other.unstopped)
        return MaskSnapshot(
            self.may | other.may, self.must & other.must, outside(self.off, self.must, other.off, other.must),
            merge.common(self.active, other.active), before_stop,
            self.stopped | other.stopped, left,
        )
