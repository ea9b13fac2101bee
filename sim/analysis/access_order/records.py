"""A program's accesses to global memory, each with its place in the total order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

__all__ = ["NO_BLOCK", "Access", "Grid", "Key", "Listing", "Place"]

#: Compared in this order: epoch, pc, work-group, warp in the group, hardware warp.
Key = tuple[int, int, int, int, int]


class Place(NamedTuple):
    """The place of a warp: number ``member`` in work-group ``group``, which is ``block`` of the grid.

    Outside work-groups, the block is None, the group is 0, and the member is the hardware warp.
    """

    group: int
    member: int
    block: tuple[int, int, int] | None


#: The only block of a listing without work-groups: the machine.
NO_BLOCK = (0, 0, 0)


class Grid(NamedTuple):
    """The sizes of a launch: the grid in blocks, and a block in threads."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Access:
    """A warp's load or store in global memory.

    ``lines``: its line numbers, in the coalescer's order. ``epoch``: the phase of the warp (docs/analyze.md, "The
    order"). ``listed``: whether it lies in the measured region.
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
        """Its place in the order, unique to the access."""
        return self.epoch, self.pc, self.place.group, self.place.member, self.warp


@dataclass(frozen=True)
class Listing:
    """A program's accesses.

    ``sequence``: the accesses of the whole run, in the total order. ``grids``: the different launches, in the order of
    their first start. ``user_line``: the first cacheable line. ``regions``: how often the region begins.
    """

    sequence: Sequence[Access]
    grids: Sequence[Grid]
    user_line: int
    regions: int = 1

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """The accesses in the measured region, in the total order."""
        return tuple(each for each in self.sequence if each.listed)

    @cached_property
    def pcs(self) -> dict[int, bool]:
        """Whether each load or store in the region is a store, by its pc in ascending order."""
        return dict(sorted({each.pc: each.store for each in self.accesses}.items()))
