"""Fewest fetched instructions."""

from __future__ import annotations

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from .base import LastWarpPolicy, PolicyInputs, first_by, order

__all__ = ["FewestFetched"]


class FewestFetched(LastWarpPolicy):
    """The eligible warp with fewest instructions fetched and not issued, of equal ones as ``lrr`` (``icount``)."""

    name = "icount"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        fetched = inputs.fetched

        def goes_first(v: int, w: int) -> Value:
            # Of v < w with equal counts w comes first in round robin iff last is one of v, v+1, ..., w-1.
            return Mux(state.last[v:w].any(), fetched[v] < fetched[w], fetched[v] <= fetched[w])

        return first_by(order(self.warps, goes_first), inputs.eligible)
