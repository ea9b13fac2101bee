"""Greedy, then loose oldest."""

from __future__ import annotations

from amaranth.hdl import Value
from amaranth.lib import data

from ..lib.onehot import lowest_one
from .base import LastWarpPolicy, PolicyInputs, greedy

__all__ = ["GreedyLooseOldest"]


class GreedyLooseOldest(LastWarpPolicy):
    """The last warp while it is eligible, else the lowest-numbered eligible one (docs/policies.md, ``gtlo``)."""

    name = "gtlo"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return greedy(state.last, inputs.eligible, lowest_one(inputs.eligible))
