"""Two warp policies: task 1 and task 2 of assignment.md. A round robin stands in for both, so that this file runs.

Grade it with `metronome grade mine.py`. It is a policy file, for `--issue mine.py:GreedyThenOldest`, too.
"""

from dataclasses import dataclass, replace
from typing import Any

from metronome.sim.machine.policies.base import Policy, PolicyInputs, after, members


@dataclass(frozen=True)
class GreedyState:
    """TODO, task 1: the data that the policy keeps from one cycle to the next."""

    last: int


class GreedyThenOldest(Policy):
    """Task 1: the last warp again, else the oldest by dispatch."""

    #: The inputs that pick and update look at.
    reads = ("eligible", "activated")

    def reset(self) -> GreedyState:
        """The state before the first cycle."""
        return GreedyState(last=self.warps - 1)

    def pick(self, state: GreedyState, inputs: PolicyInputs) -> int | None:
        """A warp of ``inputs.eligible``, or None. TODO: this is round robin."""
        return after(state.last, inputs.eligible)

    def update(self, state: GreedyState, inputs: PolicyInputs, picked: int | None) -> GreedyState:
        """The state after the cycle in which ``picked`` was selected. TODO: dispatch (``inputs.activated``)."""
        return state if picked is None else replace(state, last=picked)


@dataclass(frozen=True)
class LocalityState:
    """TODO, task 2: scores, warps held back, totals, the division."""

    last: int


class CacheConscious(Policy):
    """Task 2: round robin among the warps with the highest scores."""

    reads = ("eligible", "active", "waiting", "lost")

    def __init__(self, *, warps: int, base: int, throttle: int) -> None:
        super().__init__(warps=warps)
        self.base, self.throttle = base, throttle
        #: The greatest score.
        self.most = warps * base * throttle
        #: The cycles in which a score is divided.
        self.steps = ((2**20 - 1) * self.most).bit_length()

    @classmethod
    def of(cls, config: Any) -> "CacheConscious":
        """The policy of a machine: its parameters are fields of the configuration."""
        return cls(warps=config.warps, base=config.locality_base, throttle=config.locality_throttle)

    def reset(self) -> LocalityState:
        """The state before the first cycle."""
        return LocalityState(last=self.warps - 1)

    def queue(self, inputs: PolicyInputs) -> list[int]:
        """The warps that are active and do not wait for others, lowest number first."""
        return members(inputs.active & ~inputs.waiting)

    def pick(self, state: LocalityState, inputs: PolicyInputs) -> int | None:
        """A warp of ``inputs.eligible``, or None. TODO: no warp is held back yet."""
        return after(state.last, inputs.eligible)

    def update(self, state: LocalityState, inputs: PolicyInputs, picked: int | None) -> LocalityState:
        """The state after the cycle in which ``picked`` was selected. TODO: scores and totals (``inputs.lost``)."""
        return state if picked is None else replace(state, last=picked)
