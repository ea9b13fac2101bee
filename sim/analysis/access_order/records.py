"""What the analyzer knows of a program: its accesses to global memory, each with its place in the total order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

__all__ = ["NO_BLOCK", "Access", "Grid", "Key", "Listing", "Place"]

#: Compared in this order: epoch, pc, work-group, warp in the group, hardware warp.
Key = tuple[int, int, int, int, int]


class Place(NamedTuple):
    """What a warp stands for: the warp ``member`` of work-group number ``group``, which is at ``block`` of the grid.

    Outside of work-groups the block is None, the group 0, and the member is the hardware warp.
    """

    group: int
    member: int
    block: tuple[int, int, int] | None


#: Of a listing that has one block only: the machine.
NO_BLOCK = (0, 0, 0)


class Grid(NamedTuple):
    """A launch: the sizes of the grid in blocks, and of a block in threads."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Access:
    """What one warp's load or store asks of global memory.

    ``lines``: the numbers of its lines in memory, in the order in which the coalescer makes them. ``epoch``: the phase
    of the warp (docs/analyze.md, "The order"). ``listed``: it lies in the measured region.
    """

    warp: int
    pc: int
    store: bool
    lines: tuple[int, ...]
    epoch: int
    place: Place
    listed: bool

    @property
    def key(self) -> Key:
        """Its place in the order; no two accesses have the same."""
        return self.epoch, self.pc, self.place.group, self.place.member, self.warp


@dataclass(frozen=True)
class Listing:
    """A program's accesses.

    ``sequence``: those of the whole run, in the total order. ``grids``: the different launches, in the order in which
    they begin. ``user_line``: the first line that may be in the cache. ``regions``: how often the region begins.
    """

    sequence: Sequence[Access]
    grids: Sequence[Grid]
    user_line: int
    regions: int = 1

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Those of the measured region, in the total order."""
        return tuple(each for each in self.sequence if each.listed)

    @cached_property
    def pcs(self) -> dict[int, bool]:
        """The loads and stores of the region by pc, ascending: whether it is a store."""
        return dict(sorted({each.pc: each.store for each in self.accesses}.items()))
