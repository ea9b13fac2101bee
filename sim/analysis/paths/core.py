"""What every kind of instruction does on a path of one warp: the registers, and where it goes on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import SmConfig

from ...machine.golden import Iss
from ..code.lanes import TOP
from ..code.program import Code, Program
from .conditions import Values
from .memory import Memory
from .path import Access, Path

__all__ = ["Core", "Ends", "Event", "Meets", "Spawns", "Stepped"]


@dataclass(frozen=True)
class Ends:
    """The warp has ended."""


@dataclass(frozen=True)
class Meets:
    """The warp has come to a barrier, which ``count`` warps wait at; it goes on behind it."""

    barrier: int
    count: int


@dataclass(frozen=True)
class Spawns:
    """The warp starts ``count`` warps at ``pc`` as soon as it is alone; it goes on behind that."""

    count: int
    pc: int


Event = Ends | Meets | Spawns
#: The paths behind an instruction, and what stops the only one.
Stepped = tuple[list[Path], Event | None]


class Core:
    """Executes instructions on paths of one warp. ``memory`` is shared with the other warps."""

    def __init__(self, config: SmConfig, iss: Iss, warp: int, program: Program, memory: Memory) -> None:
        self.config, self.warp, self.program, self.memory = config, warp, program, memory
        self.values = Values()
        #: Whether there is one path only, which knows its lanes.
        self.alone = True
        self._iss = iss
        self._view = iss.warp_view(warp)
        self._storage = iss.lanes_of(warp)
        self._mask: np.ndarray | None = None
        self._flags_unknown = False
        self._installed: Path | None = None

    # Registers.

    def install(self, path: Path) -> None:
        """The golden model works on this path from now on."""
        if path.on.values is not self._storage:
            if self._installed is not None and self._installed.on.values is self._storage:
                self._installed.on.values = self._storage.copy()
            self._storage[...] = path.on.values
            path.on.values = self._storage
        self._installed = path

    def _next(self, path: Path, code: Code, access: Access | None = None) -> None:
        following = path.pc + 4 & TOP
        path.clock.issue(path.pc, code.decoded, following, access)
        path.pc = following

    def _go(self, path: Path, code: Code, following: int) -> None:
        path.clock.issue(path.pc, code.decoded, following, None)
        path.pc = following

    def _fork(self, path: Path) -> Path:
        self.alone = False
        return path.fork()

    def _write(self, path: Path, rd: int, number: int) -> None:
        """A register is written: it holds another value."""
        path.numbers[rd] = number
        path.masks.pop(rd, None)
        path.readings.pop(rd, None)
