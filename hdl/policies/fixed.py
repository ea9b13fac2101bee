"""Fixed priority."""

from __future__ import annotations

from amaranth.hdl import Value
from amaranth.lib import data

from ..lib.onehot import lowest_one
from .base import Policy, PolicyInputs

__all__ = ["FixedPriority"]


class FixedPriority(Policy):
    """The lowest-numbered eligible warp, as in Vortex's fetch stage (docs/policies.md, ``fixed``)."""

    name = "fixed"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return lowest_one(inputs.eligible)
