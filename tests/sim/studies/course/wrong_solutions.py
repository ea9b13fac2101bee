"""Typical wrong solutions of the two tasks: each is the reference, but for one mistake."""

from dataclasses import replace

from metronome.sim.machine.policies.base import after, lowest, members
from metronome.sim.machine.policies.plain import GreedyOldestDispatch
from metronome.sim.machine.policies.with_parameters import CacheConscious


class Skeleton(GreedyOldestDispatch):
    """Nothing was done: round robin."""

    def pick(self, state, inputs):
        return after(state.last, inputs.eligible)


class NoFallback(GreedyOldestDispatch):
    """Greedy, but while the last warp lives and is not eligible, nobody is selected."""

    reads = ("eligible", "active", "activated")

    def pick(self, state, inputs):
        if inputs.active >> state.last & 1:
            return state.last if inputs.eligible >> state.last & 1 else None
        return super().pick(state, inputs)


class NotGreedy(GreedyOldestDispatch):
    """Always the oldest, never the last."""

    def pick(self, state, inputs):
        return next((w for w in state.order if inputs.eligible >> w & 1), None)


class OldestByNumber(GreedyOldestDispatch):
    """The lowest number instead of the age."""

    def pick(self, state, inputs):
        return state.last if inputs.eligible >> state.last & 1 else lowest(inputs.eligible)


class AgeResetBySelection(GreedyOldestDispatch):
    """The time stamp is taken at each selection: least recently selected instead of oldest."""

    def update(self, state, inputs, picked):
        following = super().update(state, inputs, picked)
        if picked is None:
            return following
        return replace(following, order=(*(w for w in following.order if w != picked), picked))


class TiesToTheHighest(GreedyOldestDispatch):
    """Of warps dispatched in one cycle the highest number first."""

    def update(self, state, inputs, picked):
        following = super().update(state, inputs, picked)
        old = [w for w in following.order if not inputs.activated >> w & 1]
        return replace(following, order=(*old, *reversed(members(inputs.activated))))


class Youngest(GreedyOldestDispatch):
    """The one dispatched last."""

    def pick(self, state, inputs):
        if inputs.eligible >> state.last & 1:
            return state.last
        return next((w for w in reversed(state.order) if inputs.eligible >> w & 1), None)


class ForgetsTheLast(GreedyOldestDispatch):
    """In a cycle in which nobody is selected it forgets whom it was greedy for."""

    def update(self, state, inputs, picked):
        following = super().update(state, inputs, picked)
        return replace(following, last=following.order[0]) if picked is None else following


class NoDecay(CacheConscious):
    """Scores never fall."""

    def _scores(self, state, inputs):
        kept = replace(state, scores=tuple(score + 1 for score in state.scores))
        return tuple(min(score, self.most) for score in super()._scores(kept, inputs))


class NoThrottle(CacheConscious):
    """The cutoff is computed, and nobody is held back."""

    def held_back(self, state, inputs):
        return 0


class LossesStayOwed(CacheConscious):
    """A warp that has lost locality once gets a new score after every division."""

    def update(self, state, inputs, picked):
        following = super().update(state, inputs, picked)
        return replace(following, owed=(following.owed | state.owed) & inputs.active)


class SortedTheWrongWay(CacheConscious):
    """Lowest scores first."""

    def held_back(self, state, inputs):
        return _held(self, state, inputs, key=lambda w: (state.scores[w], w))


class NotSorted(CacheConscious):
    """In the order of their numbers."""

    def held_back(self, state, inputs):
        return _held(self, state, inputs, key=lambda w: w)


class HoldsBackTheFirst(CacheConscious):
    """A first warp whose own score exceeds the cutoff is held back, too."""

    def held_back(self, state, inputs):
        return _held(self, state, inputs, key=lambda w: (-state.scores[w], w), first=False)


class CutoffOfAllWarps(CacheConscious):
    """The cutoff counts all warps of the machine instead of those in the queue."""

    def held_back(self, state, inputs):
        return _held(self, state, inputs, key=lambda w: (-state.scores[w], w), room=self.warps * self.base)


class NoFloor(CacheConscious):
    """Scores fall below the base, down to 0."""

    def _scores(self, state, inputs):
        scores = super()._scores(state, inputs)
        return tuple(
            max(0, old - 1) if new == self.base and inputs.active >> w & 1 else new
            for w, (old, new) in enumerate(zip(state.scores, scores, strict=True))
        )


class LossesOfOneWarp(CacheConscious):
    """Only what one cycle has lost counts, not the total since the reset."""

    def update(self, state, inputs, picked):
        return super().update(replace(state, losses=min(state.losses, 1)), inputs, picked)


class DividesAtOnce(CacheConscious):
    """Not wrong in the assignment of the paper: the score is there at once. Here it takes a divider's time."""

    def update(self, state, inputs, picked):
        following = super().update(state, inputs, picked)
        return replace(following, left=1) if following.left > 1 else following


def _held(policy, state, inputs, *, key, first=True, room=None):
    queue = sorted(members(inputs.active & ~inputs.waiting), key=key)
    room = len(queue) * policy.base if room is None else room
    total, admitted = 0, 0
    for w in queue:
        total += state.scores[w]
        if total > room and (admitted or not first):
            break
        admitted |= 1 << w
    return inputs.active & ~inputs.waiting & ~admitted


#: By task.
WRONG = {
    1: (Skeleton, NoFallback, NotGreedy, OldestByNumber, AgeResetBySelection, TiesToTheHighest, Youngest,
        ForgetsTheLast),
    2: (NoDecay, NoThrottle, LossesStayOwed, SortedTheWrongWay, NotSorted, HoldsBackTheFirst, CutoffOfAllWarps,
        NoFloor, LossesOfOneWarp, DividesAtOnce),
}
