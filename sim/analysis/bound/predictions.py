"""The predictors private to a warp, along the paths of an analysis (docs/wcet.md, "Private predictions").

The model (:mod:`sim.predict.model.private`) keeps all that changes with every instruction twice, because it predicts
at decode. A prediction on the right path has seen exactly the outcomes before it. So one copy is enough here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.prediction.sizes import MOST_RUN, RUN_WAYS, TAG_BITS

from ...machine.events import NONE
from ..code.costs import Cost
from ..code.fetching import NEAR, nearby

__all__ = ["Predictions"]

_T = TypeVar("_T")
#: The possible states of one part of the predictors; None: any.
_States = frozenset[_T] | None
#: The lengths of runs that fell through and that were taken, the last outcome, and the length of its run so far.
_Run = tuple[int, int, int, int]
#: Of a set of entries: the way that is replaced next, and the tag of each way.
_Tags = tuple[int, ...]
#: More possible states than this are any state. Of the runs of one branch, and of all other parts.
_MOST_RUNS, _MOST = 64, 16


class _RunSet(NamedTuple):
    """A set of entries for runs: its possible ``tags``, and by tag the possible runs of that branch."""

    tags: _States[_Tags]
    runs: tuple[tuple[int, _States[_Run]], ...]


class Predictions(NamedTuple):
    """The possible states of one warp's predictors. Parts that are independent of each other are listed apart.

    - ``depth``: the size of the stack. ``stack``: the return addresses, oldest first. ``targets``: by entry, the last target or NONE.
    - ``sets``: the sets of entries for runs. ``counters``: the two-bit counters.
    """

    depth: int
    stack: _States[tuple[int, ...]]
    targets: tuple[_States[int], ...]
    sets: tuple[_RunSet, ...]
    counters: tuple[frozenset[int], ...]

    @classmethod
    def fresh(cls, config: SmConfig) -> Predictions:
        """Return the state of a warp that starts."""
        empty = _RunSet(frozenset([(0, *(NONE,) * RUN_WAYS)]), ())
        return cls(
            config.return_stack, frozenset([()]), (frozenset([NONE]),) * config.jump_targets,
            (empty,) * (config.branch_runs // RUN_WAYS), (frozenset([0]),) * config.two_bit,
        )

    def join(self, other: Predictions) -> Predictions:
        """Return the states that are possible on either path."""
        if self == other:
            return self
        return Predictions(
            self.depth, _either(self.stack, other.stack), tuple(map(_either, self.targets, other.targets)),
            tuple(map(_either_set, self.sets, other.sets)),
            tuple(mine | theirs for mine, theirs in zip(self.counters, other.counters, strict=True)),
        )

    def after(self, cost: Cost, pc: int, following: int) -> tuple[bool, Predictions]:
        """Return whether the prediction of an instruction at ``pc`` may be wrong, and the states after it."""
        wrong, then = False, self
        if cost.indirect:
            wrong, then = self._jump(cost, pc, following)
        elif cost.conditional:
            # A branch to the next instruction has an outcome that its path does not tell.
            outcomes = (0, 1) if cost.always else (int(following != pc + 4 & 0xFFFF_FFFF),)
            wrong, then = self._branch(pc, int(cost.followed), outcomes)
        return wrong, then._replace(stack=_stacked(then.stack, cost, pc, self.depth))

    def _jump(self, cost: Cost, pc: int, following: int) -> tuple[bool, Predictions]:
        stacks = self.stack if cost.pops else frozenset([()])
        wrong = stacks is None or any(each and nearby(each[-1], pc) != following for each in stacks)
        if stacks is not None and () not in stacks:
            return wrong, self
        if not self.targets:
            return True, self
        at = (pc >> 2) % len(self.targets)
        targets = self.targets[at]
        new = {following & NEAR}
        if targets is None:
            wrong = True
        else:
            wrong |= any(each == NONE or nearby(each, pc) != following for each in targets)
            # A target that is in the entry and predicts rightly is this one. Others are replaced.
        kept = _either(targets, frozenset(new)) if stacks is None or len(stacks) > 1 else frozenset(new)
        return wrong, self._replace(targets=_put(self.targets, at, kept))

    def _branch(self, pc: int, backward: int, outcomes: tuple[int, ...]) -> tuple[bool, Predictions]:
        place, then = pc >> 2, self
        usual = frozenset([backward])
        if self.counters:
            at = place % len(self.counters)
            counts = self.counters[at]
            usual = frozenset(1 - backward if each >= 2 else backward for each in counts)
            steps = [1 if taken != backward else -1 for taken in outcomes]
            moved = frozenset(min(max(each + step, 0), 3) for each in counts for step in steps)
            then = then._replace(counters=_put(self.counters, at, moved))
        if not self.sets:
            return any(each != taken for each in usual for taken in outcomes), then
        at = place % len(self.sets)
        wrong, runs = _after_branch(self.sets[at], place // len(self.sets) % (1 << TAG_BITS), usual, outcomes)
        return wrong, then._replace(sets=_put(self.sets, at, runs))


@functools.lru_cache(1 << 14)
def _after_branch(
    runs: _RunSet, tag: int, usual: frozenset[int], outcomes: tuple[int, ...]
) -> tuple[bool, _RunSet]:
    """Return whether a branch with this ``tag`` may be predicted wrongly, and its set after it."""
    if runs.tags is None:
        return True, runs
    known = dict(runs.runs)
    tags, wrong = set(), False
    mine: set[_Run] | None = set()
    for each in runs.tags:
        if tag in each[1:]:
            tags.add(each)
            continue
        for taken in outcomes:
            if usual != {1 - taken}:
                tags.add(each)
            if usual != {taken}:
                wrong = True
                tags.add(_replaced(each, tag))
                mine.add((0, 0, taken, 1))
    if any(tag in each[1:] for each in runs.tags):
        before = known[tag]
        if before is None:
            wrong, mine = True, None
        else:
            for run in before:
                for direction in usual:
                    for taken in outcomes:
                        fails = _predicted(run, direction) != taken
                        wrong |= fails
                        mine.add(_counted(run, taken, wrong=fails))
    known[tag] = _limited(mine, _MOST_RUNS)
    after = _limited(tags, _MOST)
    if after is None:
        return wrong, _RunSet(None, ())
    there = {each for way in after for each in way[1:]} - {NONE}
    return wrong, _RunSet(after, tuple(sorted((each, known[each]) for each in there)))


def _predicted(run: _Run, usual: int) -> int:
    """Return the predicted outcome of a branch with an entry."""
    taken, count = run[2:]
    length = run[taken]
    if length:
        return 1 - taken if count == length else taken
    return taken if count >= 2 else usual  # noqa: PLR2004


def _counted(run: _Run, taken: int, *, wrong: bool) -> _Run:
    """Return the entry after an outcome, from which it learns if its prediction was ``wrong``."""
    lengths, now, count = list(run[:2]), run[2], run[3]
    if wrong:
        lengths[now] = 0 if taken == now or count > MOST_RUN else count
    count = min(count + 1, MOST_RUN + 1) if taken == now else 1
    return lengths[0], lengths[1], taken, count


def _replaced(tags: _Tags, tag: int) -> _Tags:
    """Return the tags after a branch without an entry has taken that of another."""
    ways = list(tags[1:])
    ways[tags[0]] = tag
    return (tags[0] + 1) % RUN_WAYS, *ways


def _stacked(stack: _States[tuple[int, ...]], cost: Cost, pc: int, size: int) -> _States[tuple[int, ...]]:
    if stack is None or not size or not (cost.pops or cost.pushes):
        return stack
    if cost.pops:
        stack = frozenset(each[:-1] for each in stack)
    if cost.pushes:
        stack = frozenset((*each, (pc + 4) & NEAR & ~3)[-size:] for each in stack)
    return stack


def _put(parts: tuple[_T, ...], at: int, part: _T) -> tuple[_T, ...]:
    return (*parts[:at], part, *parts[at + 1 :])


def _limited(states: Iterable[_T] | None, most: int) -> _States[_T]:
    if states is None:
        return None
    states = frozenset(states)
    return None if len(states) > most else states


def _either(first: _States[_T], second: _States[_T], most: int = _MOST) -> _States[_T]:
    return None if first is None or second is None else _limited(first | second, most)


@functools.lru_cache(1 << 12)
def _either_set(first: _RunSet, second: _RunSet) -> _RunSet:
    tags = _either(first.tags, second.tags)
    if tags is None:
        return _RunSet(None, ())
    mine, theirs = dict(first.runs), dict(second.runs)
    return _RunSet(tags, tuple(
        (tag, _either(mine.get(tag, frozenset()), theirs.get(tag, frozenset()), _MOST_RUNS))
        for tag in sorted(mine.keys() | theirs.keys())
    ))
