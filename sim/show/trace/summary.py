"""A profile as a table and as JSON: cycles by source line, by function and by warp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...machine.events import NONE
from ...program.elf import ElfImage
from .places import place_of
from .profile import USES, Cell, Profile

__all__ = ["Sum", "Summary"]


@dataclass
class Sum:
    """Cycles of one line, function or warp, by use and by warp."""

    name: tuple[str, ...]
    uses: Counter[str] = field(default_factory=Counter)
    warps: Counter[int] = field(default_factory=Counter)

    @property
    def cycles(self) -> int:
        """All cycles of the line, function or warp."""
        return self.uses.total()


class Summary:
    """The counts of the profile of each SM, with the lines of a program. All sums are over the measured region.

    The warps of several SMs are numbered one after the other: those of SM 0 first.
    """

    def __init__(self, profiles: Sequence[Profile], image: ElfImage) -> None:
        self._cells = [
            cell if cell.warp == NONE else cell._replace(warp=cell.warp + number * profile.warps)
            for number, profile in enumerate(profiles) for cell in profile.cells()
        ]
        self.sms = len(profiles)
        #: Issue slots of a cycle of an SM. With several, each is counted as a cycle.
        self.schedulers = profiles[0].schedulers
        places = {cell.pc: place_of(image, cell.pc) for cell in self._cells}
        #: By (source line, function), most cycles first.
        self.lines = self._sums(lambda cell: places[cell.pc][:2])
        #: By (function,), including its code inlined into other functions.
        self.functions = self._sums(lambda cell: places[cell.pc][1:2])
        self.warps = sorted(self._sums(lambda cell: (cell.warp,)), key=lambda each: (each.name == (NONE,), each.name))

    @property
    def cycles(self) -> int:
        """The number of cycles in the region, times the schedulers; of several SMs the sum."""
        return sum(cell.cycles for cell in self._cells)

    def _sums(self, key: Callable[[Cell], Hashable]) -> list[Sum]:
        sums: dict[Any, Sum] = {}
        for cell in self._cells:
            each = sums.setdefault(key(cell), Sum(key(cell)))  # type: ignore[arg-type]
            each.uses[cell.use] += cell.cycles
            each.warps[cell.warp] += cell.cycles
        return sorted(sums.values(), key=lambda each: (-each.cycles, each.name))

    def as_json(self) -> dict[str, Any]:
        """The JSON of docs/command-line.md; null stands for no warp or no instruction."""
        return {
            "cycles": self.cycles, "uses": list(USES),
            "lines": [_json(each, ("source", "function")) for each in self.lines],
            "functions": [_json(each, ("function",)) for each in self.functions],
            "warps": [
                {"warp": _or_null(each.name[0]), "cycles": each.cycles, "uses": dict(each.uses)} for each in self.warps
            ],
            "cells": [
                {"warp": _or_null(cell.warp), "pc": _or_null(cell.pc), "use": cell.use, "cycles": cell.cycles}
                for cell in self._cells
            ],
        }


def _json(each: Sum, names: Sequence[str]) -> dict[str, Any]:
    by_warp = [{"warp": _or_null(warp), "cycles": cycles} for warp, cycles in sorted(each.warps.items())]
    return {
        **dict(zip(names, each.name, strict=True)), "cycles": each.cycles, "uses": dict(each.uses), "warps": by_warp,
    }


def _or_null(number: Any) -> Any:
    return None if number == NONE else number
