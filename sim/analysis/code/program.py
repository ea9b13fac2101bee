"""The analysed program: its instructions, decoded for the analysis and for the golden model, and its functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.isa.table import ImmFormat

from ...machine.golden.decode import Instruction as ModelInstruction
from ...machine.golden.decode import decode as decode_for_model
from ...machine.memory.shadow import Marks
from ...machine.memory.store import SparseMemory
from .decoding import Decoded, decode
from .intervals import RULES
from .loops import Function
from .refusals import RefusedError

__all__ = ["AnalyzedProgram", "Instruction"]


_WORD = 4
#: The opcodes of branches with and without a hint, jal and jalr. All but the last may be followed at decode, or all if
#: predictions are learned.
_OPCODE, _JUMPS = 0x7F, (0x62, 0x63, 0x6F, 0x67)


@dataclass(frozen=True)
class Instruction:
    """An instruction, ``decoded`` for the analysis and for the golden ``model``.

    ``reads``: the mask of its source registers. ``rule``: the name of its interval rule, or None. ``first``,
    ``second``: the registers of its first two operands, or None. ``constant``: the immediate in place of the second.
    """

    decoded: Decoded
    model: ModelInstruction
    reads: int
    rule: str | None
    first: int | None
    second: int | None
    constant: int


def _immediate(decoded: Decoded) -> int:
    """Return the signed immediate of an arithmetic instruction, or the offset of a load or store."""
    word, row = decoded.word, decoded.row
    if row.imm is ImmFormat.U:
        return word & 0xFFFF_F000
    if row.imm is ImmFormat.S:
        value = (word >> 25 & 127) << 5 | word >> 7 & 31
    elif row.imm is ImmFormat.I:
        value = word >> 20
        if row.mnemonic in ("slli", "srli", "srai"):
            return value & 31
    else:
        return 0
    return value - (value >> 11 << 12)


class AnalyzedProgram:
    """The instructions initially in memory. Self-modifying code is refused. ``learns``: see :attr:`SmConfig.learns`."""

    def __init__(self, memory: SparseMemory, *, learns: bool = False) -> None:
        self._jumps = _JUMPS if learns else _JUMPS[:-1]
        self._memory = memory.copy()
        self._code: dict[int, Instruction] = {}
        self._functions: dict[int, Function] = {}
        # The lines of requested instructions, and the first and the last of them.
        self._lines: set[int] = set()
        self._first, self._last = 1 << 32, -1
        #: Lines stored to, and the first and last lines of stores to unknown places.
        self._stored: set[int] = set()
        self._stored_ranges: list[tuple[int, int]] = []
        #: Bytes that may now belong to a jump.
        self._changed = Marks()

    def at(self, pc: int) -> Instruction:
        """Return the instruction at ``pc``.

        Raises
        ------
        RefusedError
            If there is no instruction, or it may have been overwritten.
        """
        code = self._code.get(pc)
        if code is None:
            made = self._make(pc)
            if made is None:
                raise RefusedError("it would execute a word that is not an instruction", pc)
            code = self._code[pc] = made
            line = pc // LINE_BYTES
            if line not in self._lines:
                self._refuse_stored(line, pc)
            self._lines.add(line)
            self._first, self._last = min(self._first, line), max(self._last, line)
        return code

    def _refuse_stored(self, line: int, pc: int) -> None:
        if line in self._stored or any(first <= line <= last for first, last in self._stored_ranges):
            raise RefusedError("it executes a word that it may have stored, or that is an input: self-modifying "
                               "code", pc)

    def changes(self, places: Iterable[int]) -> bool:
        """Return whether a word at one of ``places`` may have become a jump."""
        return bool(self._changed.read(np.array(list(places), np.uint32), 4).any())

    def stores(self, addresses: np.ndarray, size: int, low: np.ndarray, high: np.ndarray) -> bool:
        """Record a store of ``size`` bytes to each of ``addresses``, with values from ``low`` to ``high``.

        Return whether an instruction requested before shares a line with the store. Later requests there are refused.
        """
        jumps = np.isin(low & _OPCODE, self._jumps) | ((low != high) & (high >= min(self._jumps))) | (size < _WORD)
        if jumps.any():
            self._changed.write(addresses[jumps], size, True)
        fresh = set(np.unique(addresses // np.uint32(LINE_BYTES)).tolist()) - self._stored
        self._stored |= fresh
        return not self._lines.isdisjoint(fresh)

    def covers(self, first: int, end: int) -> bool:
        """Record a store to [first, end); return whether an instruction was requested there. Later ones are refused."""
        self._changed.mark(first, end)
        lines = range(first // LINE_BYTES, (end - 1) // LINE_BYTES + 1)
        self._stored_ranges.append((lines.start, lines.stop - 1))
        if lines.stop <= self._first or lines.start > self._last:
            return False
        return any(line in self._lines for line in lines)

    def _make(self, pc: int) -> Instruction | None:
        if pc & 3 or not self._memory.contains(pc, 4):
            return None
        word = self._memory.read_word(pc)
        decoded = decode(word)
        if decoded is None:
            return None
        row = decoded.row
        first, second = (
            None if file is None else (word >> shift & 31) + 32 * file.value
            for file, shift in ((row.rs1, 15), (row.rs2, 20))
        )
        name = {"sltiu": "sltu", "lui": "add", "auipc": "add"}.get(row.mnemonic, row.mnemonic)
        rule = name if name in RULES else name[:-1] if name.endswith("i") and name[:-1] in RULES else None
        reads = sum(1 << register for register in set(decoded.reads))
        return Instruction(decoded, decode_for_model(word), reads, rule, first, second, _immediate(decoded))

    def next_control(self, pc: int) -> int:
        """Return the pc of the first control instruction from ``pc`` on."""
        while not self.at(pc).decoded.row.control:
            pc += 4
        return pc

    def function(self, entry: int) -> Function:
        """Return the function with this ``entry``."""
        found = self._functions.get(entry)
        if found is None:
            found = self._functions[entry] = Function(entry, self.look)
        return found

    def look(self, pc: int) -> Decoded | None:
        """Return the instruction at ``pc``, executed or not; None if there is none."""
        code = self._code.get(pc) or self._make(pc)
        return None if code is None else code.decoded
