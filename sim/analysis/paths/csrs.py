"""CSR instructions on a path."""

from __future__ import annotations

import numpy as np

from metronome.hdl.isa.csrs import FLOAT_CSRS, PERFORMANCE_CSRS, Csr

from ..code.lanes import TOP
from ..code.program import Instruction
from ..code.refusals import RefusedError
from .masks import word_of
from .path import Path
from .warp import AbstractWarp

__all__ = ["CsrAccesses"]

#: mscratch is one register for the whole core, so it races like a word of memory. This address has no other use.
_MSCRATCH = np.array([4 * Csr.MSCRATCH], np.uint32)


class CsrAccesses:
    """Executes CSR instructions."""

    def __init__(self, warp: AbstractWarp) -> None:
        self._warp = warp

    def execute(self, path: Path, code: Instruction) -> None:
        """Read and write a CSR."""
        number, rd = code.decoded.csr, code.decoded.writes
        assert number is not None
        shape = len(path.may)
        if code.decoded.writes_csr:
            self._write_csr(path, code, number)
        # The analysis does not track these CSRs.
        free = number in PERFORMANCE_CSRS or number in (Csr.ACTIVE_WARPS, Csr.MREGION, Csr.MORDER, Csr.MPOLICY)
        free |= number in FLOAT_CSRS and self._warp.flags_unknown
        if number == Csr.MSCRATCH:
            if rd is not None or not code.decoded.writes_csr:
                self._warp.memory.note(self._warp.number, _MSCRATCH, store=False)
            free = int(_MSCRATCH[0]) in self._warp.memory.races
        mask = number == Csr.ACTIVE_THREADS and not path.sure
        if not code.decoded.writes_csr and not free and not mask:
            self._warp.iss.mask_words[self._warp.number] = word_of(path.may)
            self._warp.execute_model(path, code)
        elif rd is not None:
            low, high = (max(1, word_of(path.must)), word_of(path.may)) if mask else (0, TOP)
            path.on.put(rd, path.may, np.full(shape, low), np.full(shape, high))
        if rd is not None:
            self._warp.write(path, rd, self._warp.values.fresh())
            if number == Csr.ACTIVE_THREADS:
                path.read_mask(rd)

    def _write_csr(self, path: Path, code: Instruction, number: int) -> None:
        """Write a CSR. The measured region does not matter; other values must be known, and there must be one path."""
        if number in (Csr.MSCRATCH, *FLOAT_CSRS):
            if not self._warp.alone or (code.decoded.row.rs1 is not None and not self._lane_0(path, code)):
                raise RefusedError("its write to a CSR depends on the inputs", path.pc)
            if number == Csr.MSCRATCH:
                self._warp.memory.note(self._warp.number, _MSCRATCH, store=True)
            self._warp.execute_model(path, code)

    def _lane_0(self, path: Path, code: Instruction) -> bool:
        """Return whether the operand is known: the golden model reads the register of lane 0, active or not."""
        register, lane = code.decoded.word >> 15 & 31, np.arange(len(path.may)) == 0
        if path.must[0]:
            return path.on.known(register, lane)
        if not path.inactive(0) or not path.off.known(register, lane):
            return False
        # ``on`` describes active lanes only, and lane 0 is inactive.
        path.on.values[register][lane] = path.off.values[register][lane]
        return True
