"""A bound and what it is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..memory_bound import MemoryBound

__all__ = ["Composed"]


@dataclass(frozen=True)
class Composed:
    """At most ``cycles`` from the launch to the end. ``parts``: what they are made of, by name; they add up to it.

    ``holds``: whether there is an argument that no run of this machine takes longer (docs/wcet.md).
    """

    method: str
    cycles: int
    parts: Mapping[str, int]
    holds: bool = True

    @classmethod
    def of(cls, method: str, parts: dict[str, int], memory: MemoryBound) -> Composed:
        """The sum of ``parts``, and the cycles in which ``memory`` serves nobody: there may be a share of all."""
        cycles = sum(parts.values())
        if memory.stolen:
            whole = math.ceil((cycles + memory.pause) / (1 - memory.stolen))
            parts = parts | {"memory": parts["memory"] + whole - cycles}
            cycles = whole
        return cls(method, cycles, parts)
