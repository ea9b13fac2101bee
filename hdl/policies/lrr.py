"""Loose round robin."""

from __future__ import annotations

from amaranth.hdl import Value
from amaranth.lib import data

from .base import LastWarpPolicy, PolicyInputs, pick_after

__all__ = ["LooseRoundRobin"]


class LooseRoundRobin(LastWarpPolicy):
    """The first of last+1, last+2, ... in the eligible set (docs/policies.md, ``lrr``)."""

    name = "lrr"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return pick_after(state.last, inputs.eligible)
