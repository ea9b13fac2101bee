"""Greedy, then loose round robin."""

from __future__ import annotations

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from .base import LastWarpPolicy, pick_after

__all__ = ["GreedyLooseRoundRobin"]


class GreedyLooseRoundRobin(LastWarpPolicy):
    """The last warp while it is eligible, else as ``lrr`` (policies.md, ``gtlrr``)."""

    name = "gtlrr"

    def pick(self, state: data.View, eligible: Value) -> Value:
        again = state.last & eligible
        return Mux(again.any(), again, pick_after(state.last, eligible))
