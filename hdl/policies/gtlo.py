"""Greedy, then loose oldest."""

from __future__ import annotations

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from ..lib.onehot import lowest_one
from .base import LastWarpPolicy

__all__ = ["GreedyLooseOldest"]


class GreedyLooseOldest(LastWarpPolicy):
    """The last warp while it is eligible, else the lowest-numbered eligible one (policies.md, ``gtlo``)."""

    name = "gtlo"

    def pick(self, state: data.View, eligible: Value) -> Value:
        again = state.last & eligible
        return Mux(again.any(), again, lowest_one(eligible))
