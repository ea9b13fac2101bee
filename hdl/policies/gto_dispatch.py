"""Greedy, then oldest by activation."""

from __future__ import annotations

from itertools import combinations

from amaranth.hdl import Module, Value
from amaranth.lib import data

from .base import LastWarpPolicy, PolicyInputs, first_by, greedy, order

__all__ = ["GreedyOldestDispatch"]


class GreedyOldestDispatch(LastWarpPolicy):
    """The last warp while it is eligible, else the eligible one that was activated first (``gto_dispatch``).

    Only the order of the activation times is kept: it is always exact, and nothing can overflow. State: ``last``,
    and for every pair v < w, (0, 1), (0, 2), ..., a bit of ``ahead``: v was activated before w, or in the same cycle
    (a tie goes to the lower number); all 1 at first.
    """

    name = "gto_dispatch"

    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.warps), 2))

    def state_layout(self) -> data.StructLayout:
        # At least one bit: registers without bits do not survive the way to Verilog.
        return data.StructLayout({"last": self.warps, "ahead": max(1, len(self._pairs()))})

    def state_reset(self) -> dict[str, int]:
        return {**super().state_reset(), "ahead": (1 << len(self._pairs())) - 1}

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        bits = {pair: state.ahead[bit] for bit, pair in enumerate(self._pairs())}
        ahead = order(self.warps, lambda v, w: bits[v, w])
        return greedy(state.last, inputs.eligible, first_by(ahead, inputs.eligible))

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        super().update(m, state, inputs, selected=selected)
        for bit, (v, w) in enumerate(self._pairs()):
            with m.If(inputs.activated[w]):
                m.d.sync += state.ahead[bit].eq(1)
            with m.Elif(inputs.activated[v]):
                m.d.sync += state.ahead[bit].eq(0)
