"""State of one warp, shared by the parts of its abstract execution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import SmConfig

from ...machine.golden import Iss
from ..code.lanes import TOP
from ..code.program import AnalyzedProgram, Instruction
from .clock import Access
from .conditions import ValueNumbers
from .memory import Memory
from .path import Path

__all__ = ["AbstractWarp", "BarrierArrival", "Event", "Fence", "StepResult", "WarpEnd", "WarpSpawn"]


@dataclass(frozen=True)
class WarpEnd:
    """The warp has ended."""


@dataclass(frozen=True)
class BarrierArrival:
    """The warp waits at ``barrier`` until ``count`` warps are there, or as many SMs if it is ``between_sms``."""

    barrier: int
    count: int
    between_sms: bool = False


@dataclass(frozen=True)
class Fence:
    """The warp has executed a fence, which in a GPU concerns its whole SM."""


@dataclass(frozen=True)
class WarpSpawn:
    """The warp waits until no other warp is active, and then starts ``count`` warps at ``pc``."""

    count: int
    pc: int


Event = WarpEnd | BarrierArrival | WarpSpawn | Fence
#: The paths after an instruction, and the event at which the only path stops.
StepResult = tuple[list[Path], Event | None]


class AbstractWarp:
    """One warp: its program, the memory that it shares with other warps, and the golden model that computes for it.

    ``alone``: whether there is only one path, and its active lanes are known. ``flags_unknown``: whether the
    floating-point flags may depend on the inputs.
    """

    def __init__(self, config: SmConfig, iss: Iss, number: int, program: AnalyzedProgram, memory: Memory) -> None:
        self.config, self.iss, self.number, self.program, self.memory = config, iss, number, program, memory
        self.values = ValueNumbers()
        self.alone = True
        self.flags_unknown = False
        self._view = iss.warp_view(number)
        self._storage = iss.lanes_of(number)
        self._mask: np.ndarray | None = None
        self._installed: Path | None = None

    def install(self, path: Path) -> None:
        """Let the golden model work on the registers of this path."""
        if path.on.values is not self._storage:
            if self._installed is not None and self._installed.on.values is self._storage:
                self._installed.on.values = self._storage.copy()
            self._storage[...] = path.on.values
            path.on.values = self._storage
        self._installed = path

    def select(self, path: Path) -> None:
        """Let the golden model work on the lanes of this path that may be active."""
        if path.may is not self._mask:
            self._mask = path.may
            self._view.select([self.number], 1 << self.number, path.may[None], int(path.may.sum()))

    def execute_model(self, path: Path, code: Instruction) -> None:
        """Execute an instruction, whose operands must be known, on the golden model."""
        code.model.execute(self.iss, self._view, path.pc)
        if code.decoded.writes is not None:
            path.on.settle(code.decoded.writes, path.may)

    def next(self, path: Path, code: Instruction, access: Access | None = None) -> None:
        """Issue an instruction, and continue with the one after it."""
        self.go(path, code, path.pc + 4 & TOP, access)

    def go(self, path: Path, code: Instruction, following: int, access: Access | None = None) -> None:
        """Issue an instruction, and continue at ``following``."""
        path.clock.issue(path.pc, code.decoded, following, access)
        path.pc = following

    def fork(self, path: Path) -> Path:
        """Return a copy of a path, to continue in a different way."""
        self.alone = False
        return path.fork()

    @staticmethod
    def write(path: Path, rd: int, number: int) -> None:
        """Record that register ``rd`` now holds the value with this ``number``."""
        path.numbers[rd] = number
        path.masks.pop(rd, None)
        path.snapshots.pop(rd, None)
