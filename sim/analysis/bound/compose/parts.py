"""A composed bound and its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from metronome.hdl.config_checks import SLOTS_OF_TURNS

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
        """Return the sum of ``parts``, extended by the share of cycles in which ``memory`` serves no request.

        If there is a part ``turns``, a cycle is added for each time that one partition has two turns.
        """
        composed = cls._of(method, parts, memory)
        doubled = 0
        while "turns" in parts and doubled <= composed.cycles // SLOTS_OF_TURNS:
            doubled = composed.cycles // SLOTS_OF_TURNS + 1
            composed = cls._of(method, parts | {"turns": parts["turns"] + doubled}, memory)
        return composed

    @classmethod
    def _of(cls, method: str, parts: dict[str, int], memory: MemoryBound) -> Composed:
        cycles = sum(parts.values())
        if memory.stolen:
            whole = math.ceil((cycles + memory.pause) / (1 - memory.stolen))
            parts = parts | {"memory": parts["memory"] + whole - cycles}
            cycles = whole
        return cls(method, cycles, parts)
