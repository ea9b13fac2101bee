"""Instruction words as the front end and the scoreboard see them: registers, unit, and what they wait for.

From the tables of the ISA (hdl.isa); design.md sections 3 and 4.
"""

from __future__ import annotations

import struct

import numpy as np

from metronome.hdl.config import LINE_BYTES, Prediction, SmConfig
from metronome.hdl.isa.csrs import FLOAT_CSRS, ORDER_CSRS
from metronome.hdl.isa.ops import FLOAT_UNITS, STORE_BIT, BranchOp, SystemOp, Unit
from metronome.hdl.isa.table import INSTRUCTIONS, ImmFormat, Instruction, RegFile

from ...machine.events import NONE
from .records import CODE, LINE_WORDS

__all__ = ["CodeTable"]

#: Where each operand's number is in a word.
_OPERANDS = {"rd": 7, "rs1": 15, "rs2": 20, "rs3": 27}
#: CSRs whose value depends on when they are read: the performance counters, low and high halves.
_VOLATILE = range(0xB00, 0xBA0)


def _register(word: int, row: Instruction, operand: str) -> int:
    """The 6-bit number of a register that is used, else NONE (x0 too)."""
    file = getattr(row, operand)
    number = word >> _OPERANDS[operand] & 31
    if file is None or (file is RegFile.INT and number == 0):
        return NONE
    return number + 32 * file.value


def _jump_offset(word: int, row: Instruction) -> int:
    """How far a ``jal`` or a branch goes, with its sign."""
    if row.imm is ImmFormat.J:
        offset = (word >> 21 & 0x3FF) << 1 | (word >> 20 & 1) << 11 | (word >> 12 & 0xFF) << 12
        return offset - (word >> 31 << 20)
    if row.imm is ImmFormat.B:
        offset = (word >> 8 & 15) << 1 | (word >> 25 & 63) << 5 | (word >> 7 & 1) << 11
        return offset - (word >> 31 << 12)
    return 0


def _bit(register: int) -> int:
    """The bit of a register in a mask of int64: that of the last one is the sign."""
    return 0 if register == NONE else 1 << register if register < 63 else -1 << 63


class CodeTable:
    """The lines that have been fetched, decoded: ``table`` is CODE, LINE_WORDS entries a line.

    What is decoded once is kept by its bytes, so a line that a program writes is a new one each time it changes.
    """

    def __init__(self, config: SmConfig) -> None:
        self._follows = config.prediction is Prediction.BTFN
        self._stacks = config.interleaved_stacks
        self._ordered = config.ordered
        self._words: dict[int, tuple[int, ...]] = {}
        self._lines: dict[tuple[bytes, int] | None, int] = {}
        self.table = np.zeros(64 * LINE_WORDS, CODE)

    def line(self, number: int, data: bytes, error: bool, written: int = 0) -> int:
        """The place in ``table`` of the first word of a line; ``error``: memory has refused it.

        ``written``: a bit for each word that the program stores to.
        """
        # A program's instructions are scattered in interleaved stacks: a fetch from there is refused (memory.md).
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
        """Whether the front end follows it at decode."""
        return bool(self.decode(word)[CODE.names.index("predicted")])  # type: ignore[union-attr]

    def decode(self, word: int | None) -> tuple[int, ...]:
        """A row of CODE; None: the fetch has failed."""
        if word is None:
            return self._row(0, None, SystemOp.FETCH_FAULT.value)
        found = self._words.get(word)
        if found is None:
            row = next((row for row in INSTRUCTIONS if word & row.mask == row.match), None)
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
        followed = self._follows and (jal or (row.imm is ImmFormat.B and bool(word >> 31)))
        csr = word >> 20 if row.imm is ImmFormat.CSR else None
        waits = self._ordered and csr in ORDER_CSRS
        return {
            "unit": row.unit.value, "op": row.op.value, "uses": uses, "register": registers["rd"],
            # A jal that the front end follows at decode has nothing left to resolve.
            "control": int(row.control and not (jal and self._follows)),
            "fence": int(row.fence or waits), "drain": int(csr in FLOAT_CSRS or waits),
            "store": int(
                (row.unit is Unit.LSU and bool(row.op.value & STORE_BIT))
                or (waits and row.mnemonic == "csrrwi" and bool(word >> 15 & 1))
            ),
            "takes_slot": int(row.unit in FLOAT_UNITS or (row.unit is not Unit.LSU and registers["rd"] != NONE)),
            "predicted": int(followed), "offset": _jump_offset(word, row),
            "size": 1 << (row.op.value & 3) if row.unit is Unit.LSU else 0,
            "volatile": int(csr in _VOLATILE),
        }
