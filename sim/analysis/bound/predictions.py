"""The predictors private to a warp, along the paths of an analysis (docs/wcet.md, "Private predictions").

The model (:mod:`sim.predict.model.private`) keeps all that changes with every instruction twice, because it predicts
at decode. A prediction on the right path has seen exactly the outcomes before it. So one copy is enough here.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from metronome.hdl.config import SmConfig
from metronome.hdl.prediction_sizes import MOST_RUN, RUN_WAYS, TAG_BITS

from ...machine.events import NONE
from ..code.costs import Cost
from ..code.fetching import NEAR, nearby

__all__ = ["Outcome", "Predictions"]

_T = TypeVar("_T")
#: The possible states of one part of the predictors; None: any.
_States = frozenset[_T] | None
#: The lengths of runs that fell through and that were taken, the last outcome, and the length of its run so far.
_Run = tuple[int, int, int, int]
#: Of a set of entries: the way that is replaced next, and the tag of each way.
_Tags = tuple[int, ...]
#: More possible states than this are any state. Of the runs of one branch, and of all other parts.
_MOST_RUNS, _MOST = 64, 32


class _Entry(NamedTuple):
    """What the entry of a branch may hold, if there is one.

    - ``runs``: its possible runs. ``usual``: the last outcome if that was the usual one, else NONE.
    - ``more``: as long as all outcomes are ``usual``, the most predictions that are wrong and not yet charged.
    """

    runs: _States[_Run]
    usual: int = NONE
    more: int = 0

    def join(self, other: _Entry) -> _Entry:
        """Return the entry on either path."""
        runs = _either(self.runs, other.runs, _MOST_RUNS)
        if self.usual != other.usual:
            return _Entry(runs)
        return _Entry(runs, self.usual, max(self.more, other.more))


class _RunSet(NamedTuple):
    """A set of entries for runs: its possible ``tags``, and the entry of each tag that it may contain."""

    tags: _States[_Tags]
    entries: tuple[tuple[int, _Entry], ...] = ()


class Outcome(NamedTuple):
    """What an instruction costs: whether its prediction may be ``wrong``, and otherwise whether a ``later`` one may.

    A later one is charged now, and not again when it comes. It may also be this one.
    """

    wrong: bool = False
    later: bool = False


class Predictions(NamedTuple):
    """The possible states of one warp's predictors. Parts that are independent of each other are listed apart.

    - ``depth``: the size of the stack. ``stack``: the return addresses, oldest first.
    - ``targets``: by entry, the last target or NONE.
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
        empty = _RunSet(frozenset([(0, *(NONE,) * RUN_WAYS)]))
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

    def met(self) -> Predictions:
        """Return the states after the warp has met others: nothing that it charged before counts for what follows."""
        sets = (
            each._replace(entries=tuple(
                (tag, entry._replace(more=1) if entry.usual != NONE else entry) for tag, entry in each.entries
            )) for each in self.sets
        )
        return self._replace(sets=tuple(sets))

    def after(self, cost: Cost, pc: int, following: int) -> tuple[Outcome, Predictions]:
        """Return what may be wrong in predicting the instruction at ``pc``, and the states after it."""
        outcome, then = Outcome(), self
        if cost.indirect:
            wrong, then = self._jump(cost, pc, following)
            outcome = Outcome(wrong=wrong)
        elif cost.conditional:
            # A branch to the next instruction has an outcome that its path does not tell.
            directions = (0, 1) if cost.always else (int(following != pc + 4 & 0xFFFF_FFFF),)
            outcome, then = self._branch(pc, int(cost.followed), directions)
        return outcome, then._replace(stack=_stacked(then.stack, cost, pc, self.depth))

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

    def _branch(self, pc: int, backward: int, directions: tuple[int, ...]) -> tuple[Outcome, Predictions]:
        place, then = pc >> 2, self
        usual = frozenset([backward])
        if self.counters:
            at = place % len(self.counters)
            counts = self.counters[at]
            usual = frozenset(1 - backward if each >= 2 else backward for each in counts)
            steps = [1 if taken != backward else -1 for taken in directions]
            moved = frozenset(min(max(each + step, 0), 3) for each in counts for step in steps)
            then = then._replace(counters=_put(self.counters, at, moved))
        if not self.sets:
            return Outcome(wrong=usual != frozenset(directions) or len(usual) > 1), then
        at = place % len(self.sets)
        outcome, after = _branched(self.sets[at], place // len(self.sets) % (1 << TAG_BITS), usual, directions)
        return outcome, then._replace(sets=_put(self.sets, at, after))


@functools.lru_cache(1 << 14)
def _branched(
    before: _RunSet, tag: int, usual: frozenset[int], directions: tuple[int, ...]
) -> tuple[Outcome, _RunSet]:
    """Return what may be wrong in predicting a branch with this ``tag``, and its set after it."""
    entries = dict(before.entries)
    entry, tags = entries.get(tag), before.tags
    lacks = tags is None or any(tag not in each[1:] for each in tags)
    has = entry is not None and (tags is None or any(tag in each[1:] for each in tags))
    wrong: list[bool] = []
    runs: set[_Run] | None = set()
    if has and entry is not None:
        runs, wrong = _with_entry(entry, usual, directions)
    if lacks:
        unusual = [taken for taken in directions if usual != {taken}]
        wrong += [True] * len(unusual) + [False] * any(taken in usual for taken in directions)
        if unusual and runs is not None:
            runs.update((0, 0, taken, 1) for taken in unusual)
        if unusual and tags is not None:
            always = not usual.intersection(directions)
            tags = frozenset(
                new for each in tags
                for new in ([each] if tag in each[1:] else [_replaced(each, tag)] if always
                            else [each, _replaced(each, tag)])
            )
    if not has and not (lacks and any(wrong)):
        return Outcome(), before
    outcome, entries[tag] = _charged(entry if has else None, _limited(runs, _MOST_RUNS), wrong, usual, directions)
    tags = _limited(tags, _MOST)
    there = entries.keys() if tags is None else {each for way in tags for each in way[1:]} - {NONE}
    return outcome, _RunSet(tags, tuple(sorted((each, entries[each]) for each in there)))


def _with_entry(
    entry: _Entry, usual: frozenset[int], directions: tuple[int, ...]
) -> tuple[set[_Run] | None, list[bool]]:
    """Return the runs after a branch that has this entry, and whether the prediction from each run was wrong."""
    if entry.runs is None:
        return None, [False, True]
    runs, wrong = set(), []
    for run in entry.runs:
        for direction in usual:
            for taken in directions:
                wrong.append(_predicted(run, direction) != taken)
                runs.add(_counted(run, taken, wrong=wrong[-1]))
    return runs, wrong


def _charged(
    entry: _Entry | None, runs: _States[_Run], wrong: list[bool], usual: frozenset[int], directions: tuple[int, ...]
) -> tuple[Outcome, _Entry]:
    """Return what a branch costs, and its entry after it.

    As long as outcomes are usual, only the first prediction may be wrong, and one that ends the run too early.
    """
    if usual != frozenset(directions) or len(usual) > 1:
        return Outcome(wrong=any(wrong)), _Entry(runs)
    (taken,) = usual
    outcome, more = Outcome(wrong=any(wrong)), 1
    if entry is not None and entry.usual == taken:
        more = entry.more
        if any(wrong) and not all(wrong):
            outcome, more = Outcome(later=more > 0), 0
    if runs is not None and not any(run[taken] for run in runs):
        more = 0
    return outcome, _Entry(runs, taken, more)


def _predicted(run: _Run, usual: int) -> int:
    """Return the predicted outcome of a branch with an entry."""
    taken, count = run[2:]
    length = run[taken]
    if length:
        return 1 - taken if count == length else taken
    return taken if count >= 2 else usual


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
    mine, theirs = dict(first.entries), dict(second.entries)
    return _RunSet(_either(first.tags, second.tags), tuple(
        (tag, mine[tag].join(theirs[tag]) if tag in mine and tag in theirs else mine.get(tag) or theirs[tag])
        for tag in sorted(mine.keys() | theirs.keys())
    ))
