"""Fewest fetched instructions."""

from __future__ import annotations

from amaranth.hdl import Cat, Value
from amaranth.lib import data

from .base import LastWarpPolicy, PolicyInputs, pick_after

__all__ = ["FewestFetched"]


class FewestFetched(LastWarpPolicy):
    """The eligible warp with fewest instructions fetched and not issued, of equal ones as ``lrr`` (``icount``)."""

    name = "icount"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        eligible, fetched = inputs.eligible, inputs.fetched
        fewer = [Cat(other < own for other in fetched) for own in fetched]
        fewest = Cat(eligible[w] & ~(eligible & fewer[w]).any() for w in range(self.warps))
        return pick_after(state.last, fewest)
