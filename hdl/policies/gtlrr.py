"""Greedy, then loose round robin."""

from __future__ import annotations

from amaranth.hdl import Value
from amaranth.lib import data

from .base import LastWarpPolicy, PolicyInputs, pick_from

__all__ = ["GreedyLooseRoundRobin"]


class GreedyLooseRoundRobin(LastWarpPolicy):
    """The last warp while it is eligible, else as ``lrr`` (docs/policies.md, ``gtlrr``)."""

    name = "gtlrr"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return pick_from(state.last, inputs.eligible)
