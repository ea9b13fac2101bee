"""Abstract execution of one warp, one instruction at a time (Gustafsson 2006).

The golden model computes all known values. A path forks at a branch that may be taken or not.
"""

from __future__ import annotations

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit

from ...machine.golden import Iss
from ...machine.golden.records import FaultError
from ...machine.memory.store import AccessError
from ..code.program import AnalyzedProgram, Instruction
from ..code.refusals import RefusedError
from .accesses import Accesses
from .arithmetic import Arithmetic
from .branches import Branches
from .csrs import CsrAccesses
from .memory import Memory
from .path import Path
from .threads import ThreadMasks
from .warp import AbstractWarp, Fence, StepResult

__all__ = ["Execution"]

_FENCES = ("fence", "fence.i")


class Execution:
    """Executes instructions on the paths of one warp. ``memory`` is shared with the other warps."""

    def __init__(self, config: SmConfig, iss: Iss, number: int, program: AnalyzedProgram, memory: Memory) -> None:
        self.warp = AbstractWarp(config, iss, number, program, memory)
        self._accesses, self._branches = Accesses(self.warp), Branches(self.warp)
        self._masks = ThreadMasks(self.warp, self._branches)
        self._arithmetic, self._csrs = Arithmetic(self.warp), CsrAccesses(self.warp)

    def step(self, path: Path) -> StepResult:
        """Execute the next instruction of the installed path, and return the resulting paths.

        If it also returns an event, there is only one path, which stops at the event.
        """
        warp = self.warp
        if path.pc == warp.memory.main:
            if not warp.alone:
                raise RefusedError(
                    "a variable's range holds on entry to main, but which warps enter it depends on the inputs", path.pc
                )
            warp.memory.arrive()
        code = warp.program.at(path.pc)
        warp.select(path)
        pc = path.pc
        try:
            return self._execute(path, code)
        except (FaultError, AccessError) as error:
            what = error.cause.name.lower().replace("_", " ") if isinstance(error, FaultError) else str(error)
            raise RefusedError(f"the program may reach this instruction, which would fault: {what}", pc) from None

    def _execute(self, path: Path, code: Instruction) -> StepResult:
        unit = code.decoded.unit
        if unit is Unit.BRANCH:
            return self._branches.execute(path, code), None
        if unit is Unit.SIMT:
            return self._masks.execute(path, code)
        access = None
        if unit is Unit.LSU:
            access = self._accesses.execute(path, code)
        elif unit is Unit.CSR:
            self._csrs.execute(path, code)
        elif unit is not Unit.SYSTEM:
            self._arithmetic.execute(path, code)
        elif code.decoded.row.mnemonic not in (*_FENCES, "mret"):
            raise RefusedError(f"it would fault: {code.decoded.row.mnemonic}", path.pc)
        elif self.warp.config.cores > 1 and code.decoded.row.mnemonic in _FENCES:
            return self._fence(path, code)
        self.warp.next(path, code, access)
        return [path], None

    def _fence(self, path: Path, code: Instruction) -> StepResult:
        """Execute a fence of one of several SMs."""
        if not self.warp.alone:
            raise RefusedError("whether it executes a fence depends on the inputs", path.pc)
        self.warp.next(path, code)
        return [path], Fence()
