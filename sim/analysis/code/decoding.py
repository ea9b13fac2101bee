"""Instruction words as an analysis reads them: the unit, the registers read and written, what is loaded or stored."""

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

    ``row``: of the table of the ISA. ``size``: the bytes that a lane loads or stores, 0 for all others. ``csr``: the
    number of the CSR that is accessed, or None. ``writes_csr``: whether that is written.
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
        """Who executes it."""
        return self.row.unit


def _number(word: int, file: RegFile, shift: int) -> int:
    return (word >> shift & 31) + 32 * file.value


@functools.cache
def decode(word: int) -> Decoded | None:
    """The instruction of a word; None for a word that is none."""
    row = next((each for each in INSTRUCTIONS if word & each.mask == each.match), None)
    if row is None:
        return None
    reads = [_number(word, file, _SOURCES[name]) for name in _SOURCES if (file := getattr(row, name)) is not None]
    writes = None if row.rd is None else _number(word, row.rd, 7)
    access = row.unit is Unit.LSU
    csr = word >> 20 if row.imm is ImmFormat.CSR else None
    # Of the CSR instructions that set or clear bits those with x0 or a zero write nothing.
    writes_csr = csr is not None and (word >> 12 & 3 == 1 or word >> 15 & 31 != 0)
    return Decoded(
        word=word, row=row, reads=tuple(each for each in reads if each), writes=writes or None,
        size=1 << (row.op.value & 3) if access else 0, store=access and bool(row.op.value & STORE_BIT),
        csr=csr, writes_csr=writes_csr,
    )
