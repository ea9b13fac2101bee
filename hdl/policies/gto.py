"""Greedy, then oldest by waiting time."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import data

from .base import LastWarpPolicy, PolicyInputs, first_by, greedy, largest_first

__all__ = ["AGE_BITS", "GreedyOldest"]

#: Ages up to 4095 eligible cycles are distinct: 31 other warps with a greedy run of 132 instructions each, and runs
#: are far shorter, because a dependent instruction, a branch or a miss ends one (docs/policies.md, "Ages").
AGE_BITS = 12


class GreedyOldest(LastWarpPolicy):
    """The last warp while it is eligible, else the eligible one of greatest age (Magalhães 2025, algorithm 1; ``gto``).

    State: ``last``, and an ``age`` per warp, 0 at first. An age grows by 1 in every cycle in which its warp is
    eligible and saturates at 2**age_bits - 1; equal ages go to the lowest number. The age of ``last`` becomes 0 in
    every cycle in which it is not selected again.
    """

    name = "gto"

    def __init__(self, *, warps: int, age_bits: int = AGE_BITS) -> None:
        super().__init__(warps=warps)
        self.age_bits = age_bits

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({"last": self.warps, "age": data.ArrayLayout(self.age_bits, self.warps)})

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        ages = [state.age[w] for w in range(self.warps)]
        return greedy(state.last, inputs.eligible, first_by(largest_first(ages), inputs.eligible))

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        super().update(m, state, inputs, selected=selected)
        for w in range(self.warps):
            age = state.age[w]
            with m.If(state.last[w] & ~selected[w]):
                m.d.sync += age.eq(0)
            with m.Elif(inputs.eligible[w] & ~age.all()):
                m.d.sync += age.eq(age + 1)
