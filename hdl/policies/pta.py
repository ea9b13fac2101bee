"""Priority to active threads."""

from __future__ import annotations

from amaranth.hdl import Value
from amaranth.lib import data

from .base import Policy, PolicyInputs, first_by, largest_first

__all__ = ["MostActiveThreads"]


class MostActiveThreads(Policy):
    """The eligible warp with most lanes active, the lowest number first (Magalhães 2025, algorithm 2; ``pta``)."""

    name = "pta"

    def pick(self, state: data.View, inputs: PolicyInputs) -> Value:
        return first_by(largest_first(inputs.lanes), inputs.eligible)
