"""A program with its inputs, ready to be loaded: what :mod:`sim.program.kernels` prepares and every engine runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from metronome.hdl.config import LINE_BYTES, MemoryMap

from .compiler.options import Compiling
from .elf import ElfImage

__all__ = ["Launch", "Readable"]


class Readable(Protocol):
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
    #: name -> (address, bytes): what else is in memory. Unlike the buffers it does not say that this is all there is.
    loads: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: name -> (address, bytes): what is there again when ``main`` is entered, though the start-up code clears what is
    #: zero at the start. The golden model and the predictor can do that, the hardware cannot.
    at_main: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    #: Mismatches in memory after the run, one line each; empty: passed. A program not from here has no check.
    check: Callable[[Readable], list[str]] = lambda memory: []
    dtype: str | None = None
    size: int | None = None
    seed: int | None = None
    #: How it was compiled; None if that was done elsewhere.
    compiling: Compiling | None = None
    #: The files with the code of the check and the inputs, and those that they have read.
    host_files: Callable[[], list[Path]] = list
    #: What --region has opened the measured region around, if it has.
    region: str | None = None

    @property
    def entry(self) -> int:
        """Where warp 0 starts."""
        return self.image.entry

    @property
    def main(self) -> int | None:
        """Where ``main`` begins, if the program has one."""
        place = self.image.symbols.get("main")
        return None if place is None else place[0]

    @property
    def argument_address(self) -> int:
        """What mscratch holds at the start."""
        return self.memory_map.user

    @property
    def without_argument(self) -> bool:
        """Whether nothing is loaded into the line of memory in which the argument block would begin."""
        first = self.argument_address // LINE_BYTES * LINE_BYTES
        places = [(self.argument_address, self.argument_address + len(self.arguments))]
        places += [(segment.address, segment.end) for segment in self.image.segments]
        places += [(address, address + len(data)) for address, data in (self.buffers | self.loads).values()]
        return all(low >= high or high <= first or first + LINE_BYTES <= low for low, high in places)
