"""One path of a warp through a program: what is known on it, how it parts in two and how two become one again.

Of the lanes some are active for certain (``must``), and some may be (``may``). ``on`` holds the registers of a lane as
they are if it is active, ``off`` as they are if it is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from ..code.decoding import Decoded
from ..code.lanes import Lanes, outside
from ..code.numbers import word_hull
from .conditions import ZERO, Joined, Notes, Values
from .memory import Memory, Overlay
from .private_values import Found, Meeting, Reading

__all__ = ["Access", "Clock", "Path", "Split"]


@dataclass(frozen=True)
class Access:
    """What a load or store touches. ``lines``: the lines in memory if they are known, else None; at most ``most``.

    ``certain``: those of ``lines`` that are touched whichever lanes are active. ``within``: the first and
    the last line that they lie in, where they are not known but that is. ``turns``: the cycles that local memory serves
    it in, at most.
    """

    lines: tuple[int, ...] | None
    most: int
    turns: int
    within: tuple[int, int] | None = None
    certain: frozenset[int] = frozenset()


class Clock(Protocol):
    """What is counted along a path; a path that parts takes copies of it, and paths that meet join theirs."""

    def copy(self) -> Clock:
        """One of its own for another path."""

    def join(self, other: Clock) -> None:
        """From here on the path is this one or the ``other``."""

    def issue(self, pc: int, code: Decoded, following: int, access: Access | None) -> None:
        """An instruction, behind which the path goes on at ``following`` (-1: it waits, or ends)."""

    def start(self, pc: int) -> None:
        """The warp is started at ``pc``."""

    @staticmethod
    def meet(clocks: Iterable[Clock], active: int | None) -> None:
        """The clocks' warps go on behind what they have waited for together.

        ``active``: of all warps so many are active from now on, at most; None: as many as before.
        """


@dataclass(frozen=True)
class Split:
    """An open divergent split; the lanes of ``union`` and of the ``other`` side that may be, and that must be there.

    ``most``: so many lanes of the two are active at most. ``decided``: the pc of a branch and whether the other side
    takes it, if that is known. ``off``: the registers of a lane that is outside of the split.
    """

    pc: int
    visited: bool
    union: tuple[np.ndarray, np.ndarray]
    other: tuple[np.ndarray, np.ndarray]
    most: tuple[int, int]
    decided: tuple[int, bool] | None
    off: Lanes


@dataclass
class Path:
    """Where a path is, and what is known there.

    ``calls``: per call under way the entry of the function and where it returns to. ``turns``: how often the loops
    around the place have been entered again, per call, by the loop's header. ``decided``: branches whose outcome is
    known on this path, by their pc. ``most``: of the lanes that may be active so many are at most.

    ``sides``: numbers of the side of each split that the path is on, and of what is outside of all. On a side only its
    lanes are active. ``masks``: registers that hold the thread mask as it was at some time on a side, by its number;
    the oldest first. ``passes``: how often the header of a loop with a given bound has been passed since the loop was
    entered, by the number of calls under way and the header; paths that join agree in them.

    ``readings``: by the registers of ``masks``, what was so when the mask was read. ``chosen``: by the number of what a
    ``czero`` has made, in which interval the value lies if it was kept. ``seen``: by its number, in which interval a
    value lies. ``place``: where it is in the order in which paths go on.
    """

    pc: int
    on: Lanes
    off: Lanes
    may: np.ndarray
    must: np.ndarray
    clock: Clock
    numbers: list[int]
    most: int
    calls: list[tuple[int, int]] = field(default_factory=list)
    turns: list[dict[int, int]] = field(default_factory=lambda: [{}])
    splits: list[Split] = field(default_factory=list)
    overlay: Overlay = field(default_factory=dict)
    decided: dict[int, bool] = field(default_factory=dict)
    sides: list[int] = field(default_factory=lambda: [0])
    masks: dict[int, int] = field(default_factory=dict)
    passes: dict[tuple[int, int], int] = field(default_factory=dict)
    found: Found = field(default_factory=Found)
    readings: dict[int, Reading] = field(default_factory=dict)
    chosen: Notes = field(default_factory=Notes)
    seen: Notes = field(default_factory=Notes)
    place: tuple[int, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether it is known which lanes are active."""
        return bool((self.may == self.must).all())

    @property
    def shape(self) -> tuple:
        """Paths of the same shape can become one."""
        return (
            self.pc, tuple(self.calls), tuple((each.pc, each.visited, each.decided) for each in self.splits),
            tuple(sorted(self.decided.items())), tuple(sorted(self.passes.items())),
        )

    def fork(self) -> Path:
        """Another path that is the same so far."""
        return replace(
            self, on=self.on.copy(), off=self.off.copy(), may=self.may.copy(), must=self.must.copy(),
            clock=self.clock.copy(), numbers=list(self.numbers), calls=list(self.calls),
            turns=[dict(each) for each in self.turns], splits=list(self.splits), overlay=dict(self.overlay),
            decided=dict(self.decided), sides=list(self.sides), masks=dict(self.masks), passes=dict(self.passes),
            found=self.found.copy(), readings=dict(self.readings), chosen=Notes(self.chosen), seen=Notes(self.seen),
        )

    def supposing(self) -> Path:
        """Another one, to find out what would follow for the registers of some lanes."""
        on, must = self.on.copy(), np.zeros_like(self.must)
        return replace(self, on=on, must=must, numbers=list(self.numbers), seen=Notes(self.seen))

    def join(self, other: Path, memory: Memory, values: Values) -> None:
        """The path is this one or the ``other``, of the same shape; what only holds of one is no longer known."""
        both = self.may & other.may
        theirs = other.may & ~self.may
        on = self.on.copy()
        on.join(other.on, both)
        on.take(other.on, theirs)
        self.on, self.off = on, outside(self.off, self.must, other.off, other.must)
        self._be(self.may | other.may, self.must & other.must, max(self.most, other.most))
        self.clock.join(other.clock)
        joined = Joined(values)
        self.numbers = [joined.number(*both) for both in zip(self.numbers, other.numbers, strict=True)]
        self.splits = [
            replace(
                first, union=_either(first.union, second.union), other=_either(first.other, second.other),
                most=(max(first.most[0], second.most[0]), max(first.most[1], second.most[1])),
                off=outside(first.off, first.union[1], second.off, second.union[1]),
            )
            for first, second in zip(self.splits, other.splits, strict=True)
        ]
        self.chosen, self.seen = joined.notes(self.chosen, other.chosen), joined.notes(self.seen, other.seen)
        self._join_sides(other, values)
        meeting = Meeting()
        self.found.join(other.found, meeting)
        self.readings = {
            register: self.readings[register].join(other.readings[register], meeting) for register in self.masks
        }
        for turns, others in zip(self.turns, other.turns, strict=True):
            for header, count in others.items():
                turns[header] = max(turns.get(header, 0), count)
        for word in self.overlay.keys() | other.overlay.keys():
            first, second = memory.word(word, self.overlay), memory.word(word, other.overlay)
            self.overlay[word] = word_hull(first, second)

    def _join_sides(self, other: Path, values: Values) -> None:
        sides = {}
        for level, (mine, theirs) in enumerate(zip(self.sides, other.sides, strict=True)):
            sides[mine, theirs] = self.sides[level] = mine if mine == theirs else values.fresh()
        masks, theirs_first, last = {}, list(other.masks), -1
        for register, number in self.masks.items():
            side = sides.get((number, other.masks.get(register, -1)))
            # Of two registers it must be known which is the older one.
            if side is not None and theirs_first.index(register) > last:
                masks[register], last = side, theirs_first.index(register)
        self.masks = masks

    def of_side(self, register: int) -> bool:
        """Whether ``register`` holds the thread mask as it was at some time on this side."""
        return self.masks.get(register) == self.sides[-1]

    def _restore(self, register: int) -> int | None:
        """The thread mask is to be what ``register`` holds: if that is one of this side, so many lanes at most."""
        if not self.of_side(register):
            most = None
        elif not self.splits:
            most = len(self.may)
        else:
            split = self.splits[-1]
            most = split.most[1] if split.visited else split.most[0] - 1
        # A lane that goes on again has what was read before it stopped; any lane may, if it is no mask of this side.
        order = list(self.masks)
        older = register in self.masks and (most is not None or bool(self.splits))
        for later in order[order.index(register) + 1 :] if older else order:
            del self.masks[later], self.readings[later]
        return most

    def read(self, register: int) -> None:
        """The thread mask is read into ``register``."""
        self.masks[register] = self.sides[-1]
        nobody = np.zeros_like(self.may)
        self.readings[register] = Reading(
            self.may.copy(), self.must.copy(), self.off.copy(), dict(self.found.own), self.found.full[-1], nobody
        )

    def go_on(self, register: int, may: np.ndarray, must: np.ndarray, values: Values) -> None:
        """The thread mask becomes what ``register`` holds: any of the lanes in ``may``, and those in ``must``."""
        reading = self.readings[register] if self.of_side(register) else None
        most = self._restore(register)
        if reading is None:
            self.stop(self.may & ~must)
            if not self.splits:
                self.found.own.clear()
            self.widen(may, must, values, most)
            return
        # Who was active then goes on: with what it holds if it is still active, else with what it had as it stopped.
        perhaps, gone = self.may & ~self.must, ~self.may
        if reading.left is not None:
            self.on.join(reading.left, perhaps & reading.stopped)
            self.on.take(reading.left, gone & reading.stopped)
        self.on.take(self.off, gone & ~reading.stopped)
        # Who was not has not been since.
        self.off = reading.off.copy()
        self.found.go_on(reading)
        self.readings[register] = replace(reading, stopped=np.zeros_like(self.may), left=None)
        self._renumber(values)
        must = must | reading.must | self.must
        self._be(may & reading.may | must, must, len(may) if most is None else most)

    def _renumber(self, values: Values) -> None:
        """Other lanes are active: the registers hold other values."""
        self.numbers = [ZERO, *(values.fresh() for _ in self.numbers[1:])]
        self.chosen.clear()
        self.seen.clear()

    def stop(self, lanes: np.ndarray) -> None:
        """Any of ``lanes`` may stop, by an instruction that narrows the thread mask."""
        if lanes.any():
            self.readings = {register: each.stop(self.on, lanes) for register, each in self.readings.items()}
            self.found.stop()

    def inactive(self, lane: int) -> bool:
        """Whether ``off`` has what a lane holds now."""
        return not self.may[lane] and not any(each.union[0][lane] and not each.union[1][lane] for each in self.splits)

    def holds_mask(self, register: int) -> bool:
        """Whether in each active lane ``register`` is a thread mask that has that lane."""
        return self.masks.get(register) in self.sides

    def turn(self, split: Split, values: Values) -> None:
        """The innermost split goes on with its other side."""
        off = self.off.copy()
        self.found.turn()
        self.widen(*split.other, values, split.most[1])
        # A lane is on one of the two sides.
        self.on.take(off, self.may)
        self.splits[-1] = replace(split, visited=True)
        self.sides[-1] = values.fresh()
        if split.decided is not None:
            self.decided.update([split.decided])

    def know(self, may: np.ndarray, must: np.ndarray) -> None:
        """Nothing happens, but it is known that the active lanes are any in ``may``, and those in ``must``."""
        self._be(may, must, self.most)

    def narrow(self, may: np.ndarray, must: np.ndarray) -> None:
        """Only lanes in ``may`` go on, those in ``must`` for certain: others stop, none begins again."""
        self.off.join(self.on, self.may & ~self.must & ~must)
        self.off.take(self.on, self.must & ~must)
        self._be(may, must, self.most)

    def widen(self, may: np.ndarray, must: np.ndarray, values: Values, most: int | None = None) -> None:
        """The active lanes are any in ``may``, and those in ``must``: some may begin again, others stop."""
        before = self.on.copy()
        perhaps = self.may & ~self.must
        self.on.join(self.off, perhaps & may)
        self.on.take(self.off, ~self.may & may)
        self.off.join(before, perhaps & ~must)
        self.off.take(before, self.must & ~must)
        self._renumber(values)
        self._be(may, must, len(may) if most is None else most)

    def part(
        self, split: Split, side: tuple[np.ndarray, np.ndarray], most: int, other: Lanes, values: Values
    ) -> None:
        """A divergent split begins with one ``side``, of at most so many lanes.

        ``other``: the registers of a lane of the other one.
        """
        self.splits.append(split)
        self.sides.append(values.fresh())
        self.found.part()
        # Lanes outside of the split are what they were.
        other.take(self.off, ~split.union[0])
        self.off = other
        self._be(*side, most)

    def unite(self, values: Values) -> None:
        """The innermost split ends: its lanes are active."""
        split = self.splits.pop()
        self.sides.pop()
        self.found.unite()
        self.widen(*split.union, values, split.most[0])
        # Other paths have the same split.
        self.off = split.off.copy()

    def again(self, first: np.ndarray, values: Values) -> None:
        """The warp has ended, and starts again with its ``first`` lane; what is registers and memory stays."""
        while self.splits:
            self.unite(values)
        self.widen(first, first, values)
        self.sides = [values.fresh()]
        self.masks.clear()
        self.readings.clear()
        self.decided.clear()
        self.found = Found()

    def _be(self, may: np.ndarray, must: np.ndarray, most: int) -> None:
        self.most = min(most, int(may.sum()))
        if int(must.sum()) >= self.most:
            may = must
        elif may.sum() == 1:
            # A warp that goes on has an active lane.
            must = may
        self.may, self.must = may.copy(), must.copy()


def _either(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return first[0] | second[0], first[1] & second[1]
