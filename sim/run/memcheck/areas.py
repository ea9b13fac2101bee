"""The memory areas of a program: declared by its launch, or by the software interface (docs/isa.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import UNWRITTEN

if TYPE_CHECKING:  # the simulation process compiles no kernels: saves a fifth of its start
    from ...program.kernels import Launch

__all__ = ["HEAP_BYTES", "Area", "DeclaredAreas", "declared"]

#: Vortex's runtime writes 32 counters of 64 bits for each core there.
_COUNTER_DUMP_BYTES = 256
#: Bytes: farther away, naming the nearest area does not help.
_NEAR = 1 << 20
#: The size allowed for an undeclared heap.
HEAP_BYTES = 64 << 20
#: The value that the host fills an output with.
_UNWRITTEN = UNWRITTEN.to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class Area:
    """``size`` bytes from ``address``; ``written``: they hold data from the start."""

    name: str
    address: int
    size: int
    written: bool = False

    @property
    def end(self) -> int:
        """One past the last byte."""
        return self.address + self.size


@dataclass(frozen=True, slots=True)
class DeclaredAreas:
    """The areas that a program may use, in ascending order, without overlap. ``named``: those that a report names."""

    areas: tuple[Area, ...]
    named: tuple[Area, ...]

    def also(self, area: Area) -> DeclaredAreas:
        """Return these areas and another one, which overlaps none."""
        areas, named = (tuple(sorted((*old, area), key=lambda each: each.address)) for old in (self.areas, self.named))
        return DeclaredAreas(areas, named)

    def where(self, address: int) -> str:
        """Describe an ``address`` outside all areas, in words: relative to the nearest area."""
        nearest = min(self.named, key=lambda area: max(area.address - address, address - area.end + 1))
        if max(nearest.address - address, address - nearest.end) > _NEAR:
            return "in no memory of the program"
        place = f"{nearest.name} ({nearest.address:#010x}, {nearest.size} bytes)"
        if address < nearest.address:
            return f"{nearest.address - address} bytes before {place}"
        return f"{address - nearest.end} bytes past the end of {place}"


def declared(launch: Launch, config: SmConfig) -> DeclaredAreas:
    """Return the areas of a program on a machine.

    A launch with buffers names all its areas. One without (``--elf``, ``--bin``) may have an undeclared heap:
    HEAP_BYTES from the user area's start, and as many from the image's end, are allowed but unwritten. So is any memory
    above local memory. The memory after a raw image may be its .bss: it counts as written.
    """
    memory_map = config.memory_map
    stacks = memory_map.stack_bytes_per_hart * config.harts * config.cores
    own = [Area("the program", segment.address, segment.size, written=True) for segment in launch.image.segments]
    own += [
        Area(f"buffer '{name}'", address, len(data), written=data != _UNWRITTEN * (len(data) // len(_UNWRITTEN)))
        for name, (address, data) in launch.buffers.items()
    ]
    own += [
        Area(f"the file of {name}", address, len(data), written=True) for name, (address, data) in launch.loads.items()
    ]
    if launch.arguments:
        own.append(Area("the argument block", launch.argument_address, len(launch.arguments), written=True))
    io_end = memory_map.counter_dump + _COUNTER_DUMP_BYTES * config.cores
    own += [
        Area("console and counter dump", memory_map.console, io_end - memory_map.console),
        Area("the stacks", memory_map.stack_top - stacks, stacks),
        Area("local memory", memory_map.local, config.local_bytes),
    ]
    areas = sorted((area for area in own if area.size), key=lambda area: area.address)
    named = tuple(areas)
    if not launch.buffers:
        behind = launch.image.segments[-1].end, launch.image.raw
        for start, written in ((memory_map.user, False), behind):
            areas = _with_heap(areas, start, min(start + HEAP_BYTES, memory_map.stack_top - stacks), written)
        areas = _with_heap(areas, memory_map.local + config.local_bytes, memory_map.end)
    return DeclaredAreas(tuple(areas), named)


def _with_heap(areas: list[Area], first: int, end: int, written: bool = False) -> list[Area]:
    """Return ``areas`` (ascending) and, between them, the rest of [first, end)."""
    found, place = [], first
    for area in areas:
        if place < min(area.address, end):
            found.append(Area("undeclared memory", place, min(area.address, end) - place, written))
        found.append(area)
        place = max(place, area.end)
    if place < end:
        found.append(Area("undeclared memory", place, end - place, written))
    return found
