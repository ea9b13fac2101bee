"""Strict round robin."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import data

from .base import Policy, PolicyInputs, pick_after

__all__ = ["StrictRoundRobin"]


class StrictRoundRobin(Policy):
    """Every cycle belongs to one active warp; if that warp is not eligible, no warp is selected (``srr``).

    State: ``pointer``, one-hot, warp 0 at first. It moves to the next active warp in every cycle, whatever was
    selected, and stays while no warp is active.
    """

    name = "srr"
    idles = True

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({"pointer": self.warps})

    def state_reset(self) -> dict[str, int]:
        return {"pointer": 1}

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return state.pointer & inputs.eligible

    def update(self, m: Module, state: data.View, inputs: PolicyInputs, *, selected: Value) -> None:
        with m.If(inputs.active.any()):
            m.d.sync += state.pointer.eq(pick_after(state.pointer, inputs.active))
