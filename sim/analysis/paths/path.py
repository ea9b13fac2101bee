"""One path of a warp through a program: its abstract state, and how paths fork and join.

Lanes in ``must`` are certainly active, lanes in ``may`` possibly. ``on`` holds each lane's registers for the case that
it is active, ``off`` for the case that it is inactive.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..code.lanes import Lanes, outside
from ..code.numbers import word_hull
from .clock import Clock
from .conditions import ZERO, JoinedValues, KnownIntervals, ValueNumbers
from .memory import Memory, Overlay
from .private_values import MaskSnapshot, PathMerge, PrivateWords

__all__ = ["Path", "Split"]


@dataclass(frozen=True)
class Split:
    """An open divergent split.

    - ``pc``: where the other side begins; ``visited``: whether it has begun.
    - ``union``, ``other``: the lanes that may be, and must be, in the split and on its other side.
    - ``most``: the most active lanes in the split and on the other side.
    - ``decided``: the pc of a branch, and whether the other side takes it; None if that is unknown.
    - ``off``: the registers of lanes outside the split.
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
    """The position of a path, and its abstract state there.

    - ``most``: the most lanes in ``may`` that can be active at once. ``numbers``: the value number of each register.
    - ``calls``: for each active call, the entry of the function and the return address.
    - ``turns``: for each call, the iterations so far of the enclosing loops, by loop header.
    - ``splits``: the open divergent splits. ``overlay``: the words that this path stored.
    - ``decided``: the branches whose outcome is known on this path, by pc.
    - ``sides``: a number for the code outside all splits, then one for the current side of each split. Only lanes of
      the innermost side are active.
    - ``masks``: the registers that hold a thread mask read on a side, with the number of that side, oldest first.
      ``snapshots``: for each of these registers, the state when the mask was read.
    - ``passes``: for each loop that a flow fact bounds, the passes since it was entered, by call depth and loop header.
      Only paths with equal counts join.
    - ``private``: the words that are private to a lane.
    - ``selected``: the interval that the operand of a ``czero`` has where it is selected, by the result's value number.
    - ``intervals``: the intervals of values, by value number.
    - ``place``: the position in the order in which paths continue.
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
    private: PrivateWords = field(default_factory=PrivateWords)
    snapshots: dict[int, MaskSnapshot] = field(default_factory=dict)
    selected: KnownIntervals = field(default_factory=KnownIntervals)
    intervals: KnownIntervals = field(default_factory=KnownIntervals)
    place: tuple[int, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether the active lanes are known."""
        return bool((self.may == self.must).all())

    @property
    def shape(self) -> tuple:
        """The properties that two paths must share to join."""
        return (
            self.pc, tuple(self.calls), tuple((each.pc, each.visited, each.decided) for each in self.splits),
            tuple(sorted(self.decided.items())), tuple(sorted(self.passes.items())),
        )

    def fork(self) -> Path:
        """Return an independent copy."""
        return replace(
            self, on=self.on.copy(), off=self.off.copy(), may=self.may.copy(), must=self.must.copy(),
            clock=self.clock.copy(), numbers=list(self.numbers), calls=list(self.calls),
            turns=[dict(each) for each in self.turns], splits=list(self.splits), overlay=dict(self.overlay),
            decided=dict(self.decided), sides=list(self.sides), masks=dict(self.masks), passes=dict(self.passes),
            private=self.private.copy(), snapshots=dict(self.snapshots),
            selected=KnownIntervals(self.selected), intervals=KnownIntervals(self.intervals),
        )

    def supposing(self) -> Path:
        """Return a trial copy for assuming a condition."""
        on, must = self.on.copy(), np.zeros_like(self.must)
        return replace(self, on=on, must=must, numbers=list(self.numbers), intervals=KnownIntervals(self.intervals))

    def join(self, other: Path, memory: Memory, values: ValueNumbers) -> None:
        """Join with ``other``, a path of the same shape: keep only the state that holds on both."""
        both = self.may & other.may
        theirs = other.may & ~self.may
        on = self.on.copy()
        on.join(other.on, both)
        on.take(other.on, theirs)
        self.on, self.off = on, outside(self.off, self.must, other.off, other.must)
        self._set_lanes(self.may | other.may, self.must & other.must, max(self.most, other.most))
        self.clock.join(other.clock)
        joined = JoinedValues(values)
        self.numbers = [joined.number(*both) for both in zip(self.numbers, other.numbers, strict=True)]
        self.splits = [
            replace(
                first, union=_either(first.union, second.union), other=_either(first.other, second.other),
                most=(max(first.most[0], second.most[0]), max(first.most[1], second.most[1])),
                off=outside(first.off, first.union[1], second.off, second.union[1]),
            )
            for first, second in zip(self.splits, other.splits, strict=True)
        ]
        self.selected = joined.notes(self.selected, other.selected)
        self.intervals = joined.notes(self.intervals, other.intervals)
        self._join_sides(other, values)
        merge = PathMerge()
        self.private.join(other.private, merge)
        self.snapshots = {
            register: self.snapshots[register].join(other.snapshots[register], merge) for register in self.masks
        }
        for turns, others in zip(self.turns, other.turns, strict=True):
            for header, count in others.items():
                turns[header] = max(turns.get(header, 0), count)
        for word in self.overlay.keys() | other.overlay.keys():
            first, second = memory.word(word, self.overlay), memory.word(word, other.overlay)
            self.overlay[word] = word_hull(first, second)

    def _join_sides(self, other: Path, values: ValueNumbers) -> None:
        sides = {}
        for level, (mine, theirs) in enumerate(zip(self.sides, other.sides, strict=True)):
            sides[mine, theirs] = self.sides[level] = mine if mine == theirs else values.fresh()
        masks, theirs_first, last = {}, list(other.masks), -1
        for register, number in self.masks.items():
            side = sides.get((number, other.masks.get(register, -1)))
            # Both paths must agree on the order of the masks.
            if side is not None and theirs_first.index(register) > last:
                masks[register], last = side, theirs_first.index(register)
        self.masks = masks

    def is_of_side(self, register: int) -> bool:
        """Return whether ``register`` holds a thread mask that was read on this side."""
        return self.masks.get(register) == self.sides[-1]

    def _restore(self, register: int) -> int | None:
        """Drop masks that restoring ``register`` invalidates; return its most lanes, or None if not of this side."""
        if not self.is_of_side(register):
            most = None
        elif not self.splits:
            most = len(self.may)
        else:
            split = self.splits[-1]
            most = split.most[1] if split.visited else split.most[0] - 1
        # A lane that resumes has only masks read before it stopped. Without a mask of this side, any lane may resume.
        order = list(self.masks)
        older = register in self.masks and (most is not None or bool(self.splits))
        for later in order[order.index(register) + 1 :] if older else order:
            del self.masks[later], self.snapshots[later]
        return most

    def read_mask(self, register: int) -> None:
        """Record that the thread mask is read into ``register``."""
        self.masks[register] = self.sides[-1]
        private, nobody = self.private, np.zeros_like(self.may)
        self.snapshots[register] = MaskSnapshot(
            self.may.copy(), self.must.copy(), self.off.copy(), dict(private.active), private.before_stop[-1], nobody
        )

    def resume(self, register: int, may: np.ndarray, must: np.ndarray, values: ValueNumbers) -> None:
        """Set the thread mask to ``register``, which holds all lanes of ``must`` and no lane outside ``may``."""
        snapshot = self.snapshots[register] if self.is_of_side(register) else None
        most = self._restore(register)
        if snapshot is None:
            self.stop(self.may & ~must)
            if not self.splits:
                self.private.active.clear()
            self.widen(may, must, values, most)
            return
        # Lanes of the mask resume: with their current registers if still active, else with those when they stopped.
        perhaps, gone = self.may & ~self.must, ~self.may
        if snapshot.left is not None:
            self.on.join(snapshot.left, perhaps & snapshot.stopped)
            self.on.take(snapshot.left, gone & snapshot.stopped)
        self.on.take(self.off, gone & ~snapshot.stopped)
        # Lanes outside the mask have been inactive since it was read.
        self.off = snapshot.off.copy()
        self.private.resume(snapshot)
        self.snapshots[register] = replace(snapshot, stopped=np.zeros_like(self.may), left=None)
        self._renumber(values)
        must = must | snapshot.must | self.must
        self._set_lanes(may & snapshot.may | must, must, len(may) if most is None else most)

    def _renumber(self, values: ValueNumbers) -> None:
        """Give all values new numbers, because other lanes are now active."""
        self.numbers = [ZERO, *(values.fresh() for _ in self.numbers[1:])]
        self.selected.clear()
        self.intervals.clear()

    def stop(self, lanes: np.ndarray) -> None:
        """Record that any of ``lanes`` may stop at an instruction that narrows the thread mask."""
        if lanes.any():
            self.snapshots = {register: each.stop(self.on, lanes) for register, each in self.snapshots.items()}
            self.private.stop()

    def inactive(self, lane: int) -> bool:
        """Return whether a lane is inactive with its registers in ``off``."""
        return not self.may[lane] and not any(each.union[0][lane] and not each.union[1][lane] for each in self.splits)

    def holds_mask(self, register: int) -> bool:
        """Return whether ``register`` holds, in each active lane, a thread mask that includes the lane."""
        return self.masks.get(register) in self.sides

    def switch_side(self, split: Split, values: ValueNumbers) -> None:
        """Switch to the other side of the innermost split."""
        off = self.off.copy()
        self.private.switch_side()
        self.widen(*split.other, values, split.most[1])
        # Each lane is on exactly one of the two sides.
        self.on.take(off, self.may)
        self.splits[-1] = replace(split, visited=True)
        self.sides[-1] = values.fresh()
        if split.decided is not None:
            self.decided.update([split.decided])

    def constrain(self, may: np.ndarray, must: np.ndarray) -> None:
        """Restrict the active lanes to ``may`` and ``must``, as a condition implies. No lane stops or resumes."""
        self._set_lanes(may, must, self.most)

    def narrow(self, may: np.ndarray, must: np.ndarray) -> None:
        """Stop lanes outside ``may``; those in ``must`` certainly stay active. No lane resumes."""
        self.off.join(self.on, self.may & ~self.must & ~must)
        self.off.take(self.on, self.must & ~must)
        self._set_lanes(may, must, self.most)

    def widen(self, may: np.ndarray, must: np.ndarray, values: ValueNumbers, most: int | None = None) -> None:
        """Set the active lanes to ``may`` and ``must``: some may resume, others may stop."""
        before = self.on.copy()
        perhaps = self.may & ~self.must
        self.on.join(self.off, perhaps & may)
        self.on.take(self.off, ~self.may & may)
        self.off.join(before, perhaps & ~must)
        self.off.take(before, self.must & ~must)
        self._renumber(values)
        self._set_lanes(may, must, len(may) if most is None else most)

    def begin_split(
        self, split: Split, side: tuple[np.ndarray, np.ndarray], most: int, other: Lanes, values: ValueNumbers
    ) -> None:
        """Begin a divergent split with one ``side``, of at most ``most`` lanes.

        ``other``: the registers of lanes on the other side.
        """
        self.splits.append(split)
        self.sides.append(values.fresh())
        self.private.begin_split()
        # Lanes outside the split keep their registers.
        other.take(self.off, ~split.union[0])
        self.off = other
        self._set_lanes(*side, most)

    def end_split(self, values: ValueNumbers) -> None:
        """End the innermost split, and activate its lanes."""
        split = self.splits.pop()
        self.sides.pop()
        self.private.end_split()
        self.widen(*split.union, values, split.most[0])
        # Other paths share the split object.
        self.off = split.off.copy()

    def restart(self, first: np.ndarray, values: ValueNumbers) -> None:
        """Restart the warp, which has ended, with its ``first`` lane. Registers and memory keep their values."""
        while self.splits:
            self.end_split(values)
        self.widen(first, first, values)
        self.sides = [values.fresh()]
        self.masks.clear()
        self.snapshots.clear()
        self.decided.clear()
        self.private = PrivateWords()

    def _set_lanes(self, may: np.ndarray, must: np.ndarray, most: int) -> None:
        self.most = min(most, int(may.sum()))
        if int(must.sum()) >= self.most:
            may = must
        elif may.sum() == 1:
            # A running warp has at least one active lane.
            must = may
        self.may, self.must = may.copy(), must.copy()


def _either(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return first[0] | second[0], first[1] & second[1]
