"""What a lane that may be active finds again: its own words in memory, and its registers behind a loop that it left.

A lane stores to its stack, or leaves a loop at a ``pred``, and it is not known whether it does. Of the word, or the
register, all is possible then that it was and that it has become. But whoever loads the word is active. Who goes on
behind the loop was active in front of it. So what it finds is what it has stored, or had as it left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..code.lanes import Lanes, outside
from ..code.numbers import word_hull

__all__ = ["Found", "Meeting", "Own", "Owns", "Reading"]


@dataclass(frozen=True, eq=False)
class Own:
    """A store: while nobody else stores to the word, ``lane`` finds a number from ``low`` to ``high``.

    The two have a form (sim.analysis.code.numbers). That holds if the lane was active at that store. Two are the same
    only if they are the same object.
    """

    lane: int
    low: int
    high: int


#: By the address of the word.
Owns = dict[int, Own]


class Found:
    """What lanes find in their words, on one path.

    ``own``: what an active lane finds. ``owns``: of each open split what the lanes of its other side find, each if it
    is on that side. ``full``: of each side, and of what is outside of all, the ``own`` of when lanes of it first
    stopped, or None: what is still the same holds for all lanes of the side.
    """

    def __init__(self) -> None:
        self.own: Owns = {}
        self.owns: list[Owns] = []
        self.full: list[Owns | None] = [None]

    def copy(self) -> Found:
        """Another one like it, of its own."""
        twin = Found()
        twin.own, twin.owns, twin.full = dict(self.own), [dict(each) for each in self.owns], list(self.full)
        return twin

    def join(self, other: Found, meeting: Meeting) -> None:
        """The path is this one or the other."""
        self.full = [
            None if mine is None and theirs is None
            else meeting.common(self.own if mine is None else mine, other.own if theirs is None else theirs)
            for mine, theirs in zip(self.full, other.full, strict=True)
        ]
        self.own = meeting.common(self.own, other.own)
        self.owns = [meeting.common(mine, theirs) for mine, theirs in zip(self.owns, other.owns, strict=True)]

    def keep(self, word: int, lane: int | None, own: Own | None) -> None:
        """``lane``, or None: any, stores to the ``word``; ``own``: what it finds there."""
        if own is None:
            self.own.pop(word, None)
        else:
            self.own[word] = own
        # A lane that is active is on no other side.
        for each in self.owns:
            if word in each and each[word].lane != lane:
                del each[word]

    def forget(self, first: int, end: int) -> None:
        """Any lane may store anything to the words of [first, end)."""
        for words in (self.own, *self.owns):
            for word in [each for each in words if first <= each < end]:
                del words[word]

    def clear(self) -> None:
        """Nothing is known any more but what is known of memory."""
        for each in (self.own, *self.owns):
            each.clear()

    def stop(self) -> None:
        """Lanes of this side stop."""
        if self.full[-1] is None:
            self.full[-1] = dict(self.own)

    def go_on(self, reading: Reading) -> None:
        """The lanes go on that were active when the mask was read."""
        self.own = {word: own for word, own in self.own.items() if reading.own.get(word) is own}
        self.full[-1] = reading.full

    def part(self) -> None:
        """A divergent split begins with one side."""
        self.owns.append(dict(self.own))
        self.full.append(None)

    def turn(self) -> None:
        """It goes on with the other side."""
        self.own, self.owns[-1] = self.owns[-1], self.whole()
        self.full[-1] = None

    def unite(self) -> None:
        """It ends."""
        self.own = Meeting().common(self.owns.pop(), self.whole())
        self.full.pop()

    def whole(self) -> Owns:
        """What holds for all lanes of this side, those that have stopped among them."""
        full = self.full[-1]
        return self.own if full is None else {word: own for word, own in self.own.items() if full.get(word) is own}


class Meeting:
    """Two paths that become one, or the two sides of a split: what both know of a word."""

    def __init__(self) -> None:
        self._joined: dict[tuple[Own, Own], Own] = {}

    def common(self, first: Owns, second: Owns) -> Owns:
        """The words of which both know what their lane finds. The same two stores always become the same one."""
        return {
            word: self._join(own, second[word]) for word, own in first.items()
            if word in second and second[word].lane == own.lane
        }

    def _join(self, first: Own, second: Own) -> Own:
        if first is second:
            return first
        joined = self._joined.get((first, second))
        if joined is None:
            low, high = word_hull((first.low, first.high), (second.low, second.high))
            joined = Own(first.lane, low, high)
            self._joined[first, second] = joined
        return joined


@dataclass(frozen=True)
class Reading:
    """The thread mask was read: what was so then, and what has become of the lanes that have stopped since.

    ``may`` and ``must``: the lanes that may have been, and that must have been, in the mask. ``off``: the registers of
    a lane that was not in it. ``stopped``: lanes that may have stopped since, with their registers in ``left``.
    ``own``: what was known of words then, for lanes in the mask. ``full``: as :attr:`Found.full`.
    """

    may: np.ndarray
    must: np.ndarray
    off: Lanes
    own: Owns
    full: Owns | None
    stopped: np.ndarray
    left: Lanes | None = None

    def stop(self, on: Lanes, lanes: np.ndarray) -> Reading:
        """``lanes`` may stop, with the registers ``on``."""
        if self.left is None:
            left = on.copy()
        else:
            left = self.left.copy()
            left.join(on, lanes & self.stopped)
            left.take(on, lanes & ~self.stopped)
        return replace(self, stopped=self.stopped | lanes, left=left)

    def join(self, other: Reading, meeting: Meeting) -> Reading:
        """That of one path or of the other."""
        left = self.left
        if left is None:
            left = other.left
        elif other.left is not None:
            left = left.copy()
            left.join(other.left, self.stopped & other.stopped)
            left.take(other.left, ~self.stopped & other.stopped)
        full = None
        if self.full is not None or other.full is not None:
            full = meeting.common(
                self.own if self.full is None else self.full, other.own if other.full is None else other.full
            )
        return Reading(
            self.may | other.may, self.must & other.must, outside(self.off, self.must, other.off, other.must),
            meeting.common(self.own, other.own), full,
            self.stopped | other.stopped, left,
        )
