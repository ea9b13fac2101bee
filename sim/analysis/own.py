"""What a lane that may be active finds again: its own words in memory, and its registers behind a loop that it left.

A lane stores to its stack, or leaves a loop at a ``pred``, and it is not known whether it does. Of the word, or the
register, all is possible then that it was and that it has become. But whoever loads the word is active. Who goes on
behind the loop was active in front of it. So what it finds is what it has stored, or had as it left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .lanes import Lanes

__all__ = ["Meeting", "Own", "Owns", "Reading", "outside"]


@dataclass(frozen=True, eq=False)
class Own:
    """A store: while nobody else stores to the word, ``lane`` finds a number from ``low`` to ``high``.

    That holds if the lane was active at that store. Two are the same only if they are the same object.
    """

    lane: int
    low: int
    high: int


#: By the address of the word.
Owns = dict[int, Own]


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
            joined = Own(first.lane, min(first.low, second.low), max(first.high, second.high))
            self._joined[first, second] = joined
        return joined


def outside(off: Lanes, must: np.ndarray, other: Lanes, other_must: np.ndarray) -> Lanes:
    """Of two paths the registers of a lane that is not active; they say nothing of lanes that must be."""
    result = off.copy()
    result.join(other, ~must & ~other_must)
    result.take(other, must & ~other_must)
    return result


@dataclass(frozen=True)
class Reading:
    """The thread mask was read: what was so then, and what has become of the lanes that have stopped since.

    ``may`` and ``must``: the lanes that may have been, and that must have been, in the mask. ``off``: the registers of
    a lane that was not in it. ``stopped``: lanes that may have stopped since, with their registers in ``left``.
    ``own``: what was known of words then, for lanes in the mask. ``full``: as :attr:`sim.analysis.paths.Path.full`.
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
