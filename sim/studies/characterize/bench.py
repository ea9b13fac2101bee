"""Micro-benchmarks: pieces of code, each between two reads of the cycle counter, assembled into one program.

Every participating warp runs every piece; before each piece they all wait at a barrier until nothing is in progress.
A piece runs more than once, and only its last run counts, because the first run loads the code into the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import LINE_BYTES, MemoryMap
from metronome.hdl.isa.csrs import Csr

from ...machine.memory.store import SparseMemory
from ...program.assembler import asm

__all__ = ["ADDRESS", "BODY", "FRESH", "HIT", "LANE", "LOCAL", "LOCAL_LANE", "ONE", "OTHER", "RESULTS", "STORED",
           "Bench", "Piece", "Shape"]

#: Registers of every warp. HIT: the warp's own word of global memory, which holds its own address. LOCAL: the same in
#: local memory, shared. LOCAL_LANE: one word of local memory per lane, side by side. FRESH: the first line of global
#: memory not yet accessed. STORED: the warp's own line for stores. BODY: the address where the measured code begins.
HIT, LOCAL_LANE, ONE, COUNT, OFFSET, BEGIN, END = 5, 6, 7, 8, 9, 10, 11
RESULTS = (*range(12, 20), *range(1, 5), 27)
LOCAL, ADDRESS, OTHER, LANE, WARP, STORED, FRESH = range(20, 27)
PASSES, RESULT, SCRATCH, BODY = range(28, 32)
#: Floating-point registers that hold 1, as x7 does.
FLOATS = (5, 6, *RESULTS)

#: Instructions without a destination after each piece; for as long, only the piece uses the writeback port.
GUARD = 8
#: Offsets in memory from the start of the user area. Each warp has FRESH_BYTES of lines that are accessed
#: once; the first CHAIN_LINES of them form a chain.
_HIT, _STORED, _RESULT, _FRESH, FRESH_BYTES = 0x1_0000, 0x2_0000, 0x10_0000, 0x100_0000, 0x10_0000
CHAIN_LINES = 1024


@dataclass(frozen=True, kw_only=True)
class Shape:
    """All that a micro-benchmark knows about the machine: numbers of resources and addresses, but no latency.

    ``warps``, ``threads`` (lanes of a warp), ``local_bytes``: as in the configuration.
    """

    warps: int
    threads: int
    local_bytes: int
    memory_map: MemoryMap


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Code to be measured.

    ``body``: its words. ``setup``: words before it, not measured. ``passes``: number of runs; only the last one counts.
    ``guard``: whether :data:`GUARD` instructions without a destination follow it.
    """

    name: str
    body: Sequence[int]
    setup: Sequence[int] = ()
    passes: int = 2
    guard: bool = True


class Bench:
    """A program of ``pieces`` for ``warps`` warps, in the form of :class:`sim.run.types.Program`.

    Raises
    ------
    ValueError
        If there are fewer warps, if two pieces have the same name, or if local memory has less than two rows.
    """

    def __init__(self, shape: Shape, pieces: Sequence[Piece], warps: int = 1) -> None:
        if not 1 <= warps <= shape.warps:
            raise ValueError(f"warps must be between 1 and {shape.warps}, not {warps!r}")
        if len({piece.name for piece in pieces}) < len(pieces):
            raise ValueError("the names of pieces must differ")
        if shape.local_bytes < 8 * shape.threads:
            raise ValueError(f"local_bytes must be at least two words a lane, not {shape.local_bytes!r}")
        self.shape, self.pieces, self.warps = shape, tuple(pieces), warps
        self._user = shape.memory_map.user
        self.image = self._program().assemble()

    @property
    def entry(self) -> int:
        """The address at which warp 0 starts."""
        return self.shape.memory_map.start

    @property
    def argument_address(self) -> int:
        """The argument address; the program takes no argument."""
        return self._user

    def load_into(self, memory: SparseMemory) -> None:
        """Load the code, and the words that hold addresses: their own (HIT), or that of the next line (FRESH)."""
        memory.write(self.entry, self.image)
        for warp in range(self.warps):
            at = self._user + _HIT + warp * LINE_BYTES
            memory.write(at, at.to_bytes(4, "little"))
            first = self._user + _FRESH + warp * FRESH_BYTES
            lines = np.zeros((CHAIN_LINES, LINE_BYTES // 4), "<u4")
            lines[:, 0] = first + LINE_BYTES * np.arange(1, len(lines) + 1, dtype=np.uint32)
            memory.write(first, lines.tobytes())

    def cycles(self, memory: SparseMemory) -> dict[str, tuple[int, ...]]:
        """Return the cycles of each piece in each warp, from the memory after a run.

        They count from the selection of the first counter read to that of the second, less one for the first read.
        """
        return {
            piece.name: tuple(memory.read_word(self._result(number) + 4 * warp) - 1 for warp in range(self.warps))
            for number, piece in enumerate(self.pieces)
        }

    def _result(self, number: int) -> int:
        return self._user + _RESULT + 256 * number

    def _program(self) -> asm.Program:
        program = asm.Program(self.entry)
        program.li(COUNT, self.warps)
        if self.warps > 1:
            program.la(SCRATCH, "all")
            program.add(asm.wspawn(COUNT, SCRATCH))
        program.label("all")
        self._registers(program)
        for number, piece in enumerate(self.pieces):
            self._piece(program, number, piece)
        program.add(asm.fence(), asm.tmc(0))
        return program

    def _registers(self, program: asm.Program) -> None:
        program.li(SCRATCH, -1)
        program.add(asm.tmc(SCRATCH), asm.csrr(LANE, Csr.THREAD_ID), asm.csrr(WARP, Csr.WARP_ID))
        program.li(COUNT, self.warps)
        program.li(ONE, 1)
        program.add(asm.slli(OFFSET, WARP, 2), asm.slli(SCRATCH, WARP, LINE_BYTES.bit_length() - 1))
        for register, place in ((HIT, _HIT), (STORED, _STORED)):
            program.li(register, self._user + place)
            program.add(asm.add(register, register, SCRATCH))
        program.li(FRESH, self._user + _FRESH)
        program.add(asm.slli(SCRATCH, WARP, FRESH_BYTES.bit_length() - 1), asm.add(FRESH, FRESH, SCRATCH))
        program.li(LOCAL, self.shape.memory_map.local)
        program.add(asm.slli(LOCAL_LANE, LANE, 2), asm.add(LOCAL_LANE, LOCAL_LANE, LOCAL))
        # After the first row, because a store to it must not overwrite the word that LOCAL points to.
        program.add(asm.addi(LOCAL_LANE, LOCAL_LANE, 4 * self.shape.threads))
        program.add(*[asm.addi(register, ONE, 0) for register in RESULTS])
        program.add(*[asm.fcvt_s_w(register, ONE) for register in FLOATS])

    def _piece(self, program: asm.Program, number: int, piece: Piece) -> None:
        loop, body = f"loop {number}", f"body {number}"
        program.li(PASSES, piece.passes)
        program.li(RESULT, self._result(number))
        program.add(asm.add(RESULT, RESULT, OFFSET))
        program.label(loop)
        program.la(BODY, body)
        program.add(*piece.setup)
        # Nothing of any warp is in progress: first registers and flags, then stores, then the other warps.
        program.add(asm.csrr(0, Csr.FCSR), asm.fence(), asm.bar(0, COUNT), asm.csrr(BEGIN, Csr.MCYCLE))
        program.label(body)
        program.add(*piece.body)
        program.add(*[asm.nop()] * (GUARD * piece.guard))
        program.add(asm.csrr(END, Csr.MCYCLE), asm.sub(END, END, BEGIN), asm.sw(END, 0, RESULT))
        program.add(asm.addi(PASSES, PASSES, -1))
        program.branch(asm.bne, PASSES, 0, loop)
