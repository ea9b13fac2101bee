"""Loose oldest."""

from __future__ import annotations

from amaranth.hdl import Value
from amaranth.lib import data

from ..lib.onehot import lowest_one
from .base import Policy, PolicyInputs

__all__ = ["LooseOldest"]


class LooseOldest(Policy):
    """The oldest eligible warp; warps are activated in number order, so the lowest one (docs/policies.md, ``lo``)."""

    name = "lo"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return lowest_one(inputs.eligible)
