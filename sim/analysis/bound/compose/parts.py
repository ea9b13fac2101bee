"""A composed bound and its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..memory_bound import MemoryBound

__all__ = ["Composed"]


@dataclass(frozen=True)
class Composed:
    """The most ``cycles`` from the launch to the end, and the ``parts``, by name, that add up to them.

    ``holds``: whether it is shown that no run of this machine takes longer (docs/wcet.md).
    """

    method: str
    cycles: int
    parts: Mapping[str, int]
    holds: bool = True

    @classmethod
    def of(cls, method: str, parts: dict[str, int], memory: MemoryBound) -> Composed:
        """Return the sum of ``parts``, extended by the share of cycles in which ``memory`` serves no request."""
        cycles = sum(parts.values())
        if memory.stolen:
            whole = math.ceil((cycles + memory.pause) / (1 - memory.stolen))
            parts = parts | {"memory": parts["memory"] + whole - cycles}
            cycles = whole
        return cls(method, cycles, parts)
