"""The interface for submissions: the base class of the two policies, their inputs, and helpers for sets of warps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...machine.policies.base import Policy, PolicyInputs, State, after, lowest, members

__all__ = ["PolicyInputs", "Scheduler", "after", "lowest", "members"]


class Scheduler(Policy[State]):
    """A policy of a submission: ``reset``, ``pick`` and ``update``. Its states are never enumerated."""

    def states(self) -> Iterator[Any]:
        """Not used: only the hardware's tests need it."""
        raise NotImplementedError

    def registers(self, state: Any) -> dict[str, int]:
        """Not used: only the hardware's tests need it."""
        raise NotImplementedError
