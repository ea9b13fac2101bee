"""A program with its inputs, ready to be loaded: prepared by :mod:`sim.program.kernels`, run by every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from metronome.hdl.config import LINE_BYTES, MemoryMap

from ..machine.memory.store import PAGE_BYTES, SparseMemory
from .compiler.options import Compiling
from .elf import ElfImage

__all__ = ["Launch", "ReadableMemory", "load_into"]


class ReadableMemory(Protocol):
    """Memory after a run, for a check."""

    def read(self, addr: int, n: int, /) -> bytes:
        """See :meth:`sim.machine.memory.store.SparseMemory.read`."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One program with its inputs, ready to be loaded."""

    name: str
    image: ElfImage
    memory_map: MemoryMap
    #: The argument block; empty for a program that takes none.
    arguments: bytes = b""
    #: name -> (address, initial bytes)
    buffers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: name -> (address, bytes): further contents of memory. Unlike the buffers, they do not declare all its areas.
    loads: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: name -> (address, bytes): memory restored when ``main`` is entered, after the start-up code has cleared memory
    #: that is zero at the start. The golden model and the predictor can do that, the hardware cannot.
    at_main: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: Return the mismatches in memory after the run, one a line; empty: passed. A foreign program has no check.
    check: Callable[[ReadableMemory], list[str]] = lambda memory: []
    dtype: str | None = None
    size: int | None = None
    seed: int | None = None
    #: How it was compiled; None if it was compiled elsewhere.
    compiling: Compiling | None = None
    #: The files with the code of the check and the inputs, and those that they have read.
    host_files: Callable[[], list[Path]] = list
    #: The argument of --region around which the measured region was opened, if any.
    region: str | None = None

    @property
    def entry(self) -> int:
        """The address at which warp 0 starts."""
        return self.image.entry

    @property
    def main(self) -> int | None:
        """The address of ``main``, if the program has one."""
        place = self.image.symbols.get("main")
        return None if place is None else place[0]

    @property
    def argument_address(self) -> int:
        """The initial value of mscratch."""
        return self.memory_map.user

    @property
    def without_argument(self) -> bool:
        """Whether nothing is loaded into the line of memory in which the argument block would begin."""
        first = self.argument_address // LINE_BYTES * LINE_BYTES
        places = [(self.argument_address, self.argument_address + len(self.arguments))]
        places += [(segment.address, segment.end) for segment in self.image.segments]
        places += [(address, address + len(data)) for address, data in (self.buffers | self.loads).values()]
        return all(low >= high or high <= first or first + LINE_BYTES <= low for low, high in places)


def load_into(launch: Launch, memory: SparseMemory) -> None:
    """Write image, buffers, loads and argument block.

    Memory that a segment only reserves is zero afterwards, even if it was used before.
    """
    pages = memory.pages()
    for segment in launch.image.segments:
        memory.write(segment.address, segment.data)
        _clear(memory, pages, segment.address + len(segment.data), segment.end)
    for address, data in (launch.buffers | launch.loads).values():
        memory.write(address, data)
    if launch.arguments:
        memory.write(launch.argument_address, launch.arguments)


def _clear(memory: SparseMemory, pages: list[int], first: int, end: int) -> None:
    """Zero [first, end) in pages that exist; the others read zero anyway."""
    for page in pages:
        low, high = max(first, page), min(end, page + PAGE_BYTES)
        if low < high:
            memory.write(low, bytes(high - low))
