"""What a warp policy is: a pure pick and a state update (policies.md)."""

from __future__ import annotations

import abc
from typing import ClassVar

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data

from ..lib.onehot import lowest_one

__all__ = ["LastWarpPolicy", "Policy", "pick_after"]


class Policy(abc.ABC):
    """One warp-scheduling policy over ``warps`` warps.

    The pick is a pure expression of the state and the eligible set, so that hardware, oracles and proofs share one
    definition.
    """

    #: Name in policies.md and in ``SmConfig.policies``.
    name: ClassVar[str]

    def __init__(self, *, warps: int) -> None:
        self.warps = warps

    @abc.abstractmethod
    def state_layout(self) -> data.StructLayout:
        """The registers of the policy."""

    @abc.abstractmethod
    def state_reset(self) -> dict[str, int]:
        """The reset value of each register."""

    @abc.abstractmethod
    def pick(self, state: data.View, eligible: Value) -> Value:
        """The selected warp as a one-hot vector within ``eligible``; 0 when nothing is selected."""

    @abc.abstractmethod
    def update(self, m: Module, state: data.View, *, selected: Value) -> None:
        """Add the state update for a cycle in which ``selected`` (one-hot or 0) was selected."""


class LastWarpPolicy(Policy):
    """A policy whose state is ``last``, the warp selected most recently, one-hot; W-1 before the first selection."""

    def state_layout(self) -> data.StructLayout:
        return data.StructLayout({"last": self.warps})

    def state_reset(self) -> dict[str, int]:
        return {"last": 1 << (self.warps - 1)}

    def update(self, m: Module, state: data.View, *, selected: Value) -> None:
        with m.If(selected.any()):
            m.d.sync += state.last.eq(selected)


def pick_after(last: Value, eligible: Value) -> Value:
    """Loose round robin: the first of last+1, last+2, ... (modulo the width) in ``eligible``, one-hot.

    ``last`` is one-hot: minus twice ``last`` has exactly the bits above it set.
    """
    width = len(eligible)
    above = eligible & (-(last << 1))[:width]
    return Mux(above.any(), lowest_one(above), lowest_one(eligible))
