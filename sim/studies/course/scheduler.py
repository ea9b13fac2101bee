"""What a submission is made of: the base class of its two policies, what they see, and helpers for sets of warps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...machine.policies.base import Policy, PolicyInputs, State, after, lowest, members

__all__ = ["PolicyInputs", "Scheduler", "after", "lowest", "members"]


class Scheduler(Policy[State]):
    """A policy of a submission: ``reset``, ``pick`` and ``update``. Nobody asks it for its states."""

    def states(self) -> Iterator[Any]:
        """Only the hardware's tests need them."""
        raise NotImplementedError

    def registers(self, state: Any) -> dict[str, int]:
        """Only the hardware's tests need them."""
        raise NotImplementedError
