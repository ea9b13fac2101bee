"""Pure round robin."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import data

from .base import Policy, PolicyInputs, pick_after

__all__ = ["PureRoundRobin"]


class PureRoundRobin(Policy):
    """The warps issue in turn, and all wait for the one whose turn it is (docs/policies.md, ``prr``).

    State: ``pointer``, one-hot, warp 0 at first. If its warp was selected, is not active or waits for other warps, the
    pointer moves to the next warp that is active and does not wait for others; it stays while there is none.
    """

    name = "prr"
    idles = True

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({"pointer": self.warps})

    def state_reset(self) -> dict[str, int]:
        return {"pointer": 1}

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return state.pointer & inputs.eligible

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        takers = inputs.active & ~inputs.waiting
        done = (state.pointer & (selected | ~takers)).any()
        with m.If(done & takers.any()):
            m.d.sync += state.pointer.eq(pick_after(state.pointer, takers))
