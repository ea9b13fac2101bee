"""Instruction words decoded for analysis: unit, registers read and written, and size of a load or store."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from metronome.hdl.isa.ops import STORE_BIT, Unit
from metronome.hdl.isa.table import INSTRUCTIONS, ImmFormat, Instruction, RegFile

__all__ = ["Decoded", "decode"]

_SOURCES = {"rs1": 15, "rs2": 20, "rs3": 27}


@dataclass(frozen=True)
class Decoded:
    """One instruction. Registers are 0..31 for x and 32..63 for f; x0 is never written.

    ``row``: its row in the ISA table. ``size``: the bytes that a lane loads or stores, else 0. ``csr``: the number of
    the accessed CSR, or None. ``writes_csr``: whether the CSR is written.
    """

    word: int
    row: Instruction
    reads: tuple[int, ...]
    writes: int | None
    size: int
    store: bool
    csr: int | None
    writes_csr: bool

    @property
    def unit(self) -> Unit:
        """The unit that executes the instruction."""
        return self.row.unit


def _number(word: int, file: RegFile, shift: int) -> int:
    return (word >> shift & 31) + 32 * file.value


@functools.cache
def decode(word: int) -> Decoded | None:
    """Decode a word; return None if it is not an instruction."""
    row = next((each for each in INSTRUCTIONS if word & each.mask == each.match), None)
    if row is None:
        return None
    reads = [_number(word, file, _SOURCES[name]) for name in _SOURCES if (file := getattr(row, name)) is not None]
    writes = None if row.rd is None else _number(word, row.rd, 7)
    access = row.unit is Unit.LSU
    csr = word >> 20 if row.imm is ImmFormat.CSR else None
    # CSR instructions that set or clear bits write nothing if their operand is x0 or zero.
    writes_csr = csr is not None and (word >> 12 & 3 == 1 or word >> 15 & 31 != 0)
    return Decoded(
        word=word, row=row, reads=tuple(each for each in reads if each), writes=writes or None,
        size=1 << (row.op.value & 3) if access else 0, store=access and bool(row.op.value & STORE_BIT),
        csr=csr, writes_csr=writes_csr,
    )
