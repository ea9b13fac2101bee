"""Instruction words as the front end and the scoreboard see them: registers, unit, and issue conditions.

The data come from the tables of the ISA (hdl.isa); see design.md sections 3 and 4.
"""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.isa.csrs import FLOAT_CSRS, ORDER_CSRS
from metronome.hdl.isa.ops import FLOAT_UNITS, STORE_BIT, BranchOp, SystemOp, Unit
from metronome.hdl.isa.table import ImmFormat, Instruction, RegFile, instructions

from ...machine.events import NONE
from .records import CODE, LINE_WORDS

__all__ = ["CodeTable"]

#: The lowest bit of each operand's register number in a word.
_OPERANDS = {"rd": 7, "rs1": 15, "rs2": 20, "rs3": 27}
#: Registers for return addresses: ra and t0.
_LINKS = (1, 5)
#: CSRs whose value depends on when they are read: the performance counters, low and high halves.
_VOLATILE = range(0xB00, 0xBA0)


def _register(word: int, row: Instruction, operand: str) -> int:
    """Return the 6-bit number of the operand's register; NONE if the operand is not used or is x0."""
    file = getattr(row, operand)
    number = word >> _OPERANDS[operand] & 31
    if file is None or (file is RegFile.INT and number == 0):
        return NONE
    return number + 32 * file.value


def _jump_offset(word: int, row: Instruction) -> int:
    """Return the signed offset of a ``jal`` or branch, 0 for other instructions."""
    if row.imm is ImmFormat.J:
        offset = (word >> 21 & 0x3FF) << 1 | (word >> 20 & 1) << 11 | (word >> 12 & 0xFF) << 12
        return offset - (word >> 31 << 20)
    if row.imm is ImmFormat.B:
        offset = (word >> 8 & 15) << 1 | (word >> 25 & 63) << 5 | (word >> 7 & 1) << 11
        return offset - (word >> 31 << 12)
    return 0


def _bit(register: int) -> int:
    """Return the bit of a register in an int64 mask; the last register's bit is the sign."""
    return 0 if register == NONE else 1 << register if register < 63 else -1 << 63


class CodeTable:
    """Decoded lines that have been fetched: ``table`` is an array of CODE with LINE_WORDS entries for each line.

    Lines are identified by their bytes, so each new version of a line that a program writes gets an entry of its own.
    """

    def __init__(self, config: SmConfig) -> None:
        self._follows, self._learns = config.follows, config.learns
        self._stacks = config.interleaved_stacks
        self._ordered = config.ordered
        self._rows = instructions(config.fpu)
        self._drains = FLOAT_CSRS if config.fpu else frozenset()
        self._words: dict[int, tuple[int, ...]] = {}
        self._lines: dict[tuple[bytes, int] | None, int] = {}
        self.table = np.zeros(64 * LINE_WORDS, CODE)

    def line(self, number: int, data: bytes, error: bool, written: int = 0) -> int:
        """Return the place of a line's first word in ``table``; ``error``: memory answered the fetch with an error.

        ``written``: a bit for each word that the program stores to.
        """
        # Interleaved stacks scatter the words of a line, so a fetch from them is refused (memory.md).
        key = None if error or number * LINE_BYTES in self._stacks else (data, written)
        place = self._lines.get(key)
        if place is None:
            place = self._lines[key] = len(self._lines) * LINE_WORDS
            if place >= len(self.table):
                self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            words = [None] * LINE_WORDS if key is None else struct.unpack(f"<{LINE_WORDS}I", data)
            self.table[place : place + LINE_WORDS] = [self.decode(word) for word in words]
            self.table["written"][place : place + LINE_WORDS] = [written >> word & 1 for word in range(LINE_WORDS)]
        return place

    def jumps(self, word: int) -> bool:
        """Whether ``word`` is a jump or branch that the front end may follow at decode."""
        row = dict(zip(CODE.names or (), self.decode(word), strict=True))
        return bool(row["predicted"] or (self._learns and (row["conditional"] or row["indirect"])))

    def decode(self, word: int | None) -> tuple[int, ...]:
        """Return the row of CODE for ``word``; None stands for a failed fetch."""
        if word is None:
            return self._row(0, None, SystemOp.FETCH_FAULT.value)
        found = self._words.get(word)
        if found is None:
            row = next((row for row in self._rows if word & row.mask == row.match), None)
            found = self._words[word] = self._row(word, row, SystemOp.ILLEGAL.value)
        return found

    def _row(self, word: int, row: Instruction | None, op: int) -> tuple[int, ...]:
        values = dict.fromkeys(CODE.names or (), 0) | {
            "unit": Unit.SYSTEM.value, "op": op, "word": word, "register": NONE,
        }
        if row is not None:
            values |= self._fields(word, row)
        return tuple(values.values())

    def _fields(self, word: int, row: Instruction) -> dict[str, int]:
        registers = {operand: _register(word, row, operand) for operand in _OPERANDS}
        uses = 0
        for register in registers.values():
            uses |= _bit(register)
        jal = row.op is BranchOp.JAL
        # A hint is a clear bit 0 (isa.md).
        followed = self._follows and (jal or (row.imm is ImmFormat.B and word >> 31 == word & 1))
        indirect, links = row.op is BranchOp.JALR, (word >> 7 & 31) in _LINKS
        csr = word >> 20 if row.imm is ImmFormat.CSR else None
        waits = self._ordered and csr in ORDER_CSRS
        return {
            "unit": row.unit.value, "op": row.op.value, "uses": uses, "register": registers["rd"],
            # A jal that the front end follows at decode has nothing left to resolve.
            "control": int(row.control and not (jal and self._follows)),
            "fence": int(row.fence or waits), "drain": int(csr in self._drains or waits),
            "store": int(
                (row.unit is Unit.LSU and bool(row.op.value & STORE_BIT))
                or (waits and row.mnemonic == "csrrwi" and bool(word >> 15 & 1))
            ),
            "takes_slot": int(row.unit in FLOAT_UNITS or (row.unit is not Unit.LSU and registers["rd"] != NONE)),
            "predicted": int(followed), "conditional": int(row.imm is ImmFormat.B), "indirect": int(indirect),
            # The convention of the manual (unprivileged, "Unconditional Jumps") for a stack of return addresses.
            "pushes": int(links and (jal or indirect)),
            "pops": int(
                indirect and (word >> 15 & 31) in _LINKS and not (links and word >> 7 & 31 == word >> 15 & 31)
            ),
            "offset": _jump_offset(word, row),
            "size": 1 << (row.op.value & 3) if row.unit is Unit.LSU else 0,
            "volatile": int(csr in _VOLATILE),
        }
