"""Instruction words as text: the mnemonics of the manual and of docs/isa.md, registers by their ABI names.

Each instruction has one form: there are no aliases such as ``li`` or ``ret``.
"""

from __future__ import annotations

import functools

from metronome.hdl.isa.csrs import Csr
from metronome.hdl.isa.ops import Unit
from metronome.hdl.isa.table import INSTRUCTIONS, ImmFormat, Instruction, RegFile

from .asm import ABI_NAMES, DYN
from .formats import branch_offset

__all__ = ["disassemble", "register_name", "registers_of", "unit_of"]

_FLOAT_NAMES = tuple(
    "ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11"
    " ft8 ft9 ft10 ft11".split()
)
_ROUNDING = ("rne", "rtz", "rdn", "rup", "rmm")
_BY_OPCODE: dict[int, list[Instruction]] = {}
for _row in INSTRUCTIONS:
    # Without bit 0, which is the hint of a branch.
    _BY_OPCODE.setdefault(_row.match & 0x7E, []).append(_row)


def register_name(number: int) -> str:
    """The ABI name of a register: 0 to 31 integer, 32 to 63 floating point."""
    return ABI_NAMES[number] if number < 32 else _FLOAT_NAMES[number - 32]


def _row_of(word: int) -> Instruction | None:
    return next((row for row in _BY_OPCODE.get(word & 0x7E, ()) if word & row.mask == row.match), None)


def unit_of(word: int) -> Unit | None:
    """The unit that executes it, or None for an illegal instruction."""
    row = _row_of(word)
    return None if row is None else row.unit


@functools.cache
def registers_of(word: int) -> tuple[int | None, tuple[int, ...]]:
    """The register that it writes, or None, and those that it reads: 0 to 63, without x0."""
    row = _row_of(word)
    if row is None:
        return None, ()
    files = ((7, row.rd), (15, row.rs1), (20, row.rs2), (27, row.rs3))
    numbers = [None if file is None else (word >> low & 31 | 32 * file.value) or None for low, file in files]
    return numbers[0], tuple(number for number in numbers[1:] if number is not None)


def _signed(word: int, high: int, low: int) -> int:
    value = word >> low & (1 << high - low + 1) - 1
    return value - ((value >> high - low) << high - low + 1)


def _offset(word: int, row: Instruction) -> int:
    """The offset of a branch or a jal, in bytes."""
    if row.imm is ImmFormat.B:
        return branch_offset(word)
    return _signed(word, 31, 31) << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1


def _register(word: int, low: int, file: RegFile) -> str:
    return register_name(word >> low & 31 | 32 * file.value)


@functools.cache
def disassemble(word: int, pc: int) -> str:
    """Disassemble ``word`` at ``pc``, from which branches and jumps are relative; ``.word`` if it is illegal."""
    row = _row_of(word)
    if row is None or (row.rm and _rounding(word) is None):
        return f".word {word:#010x}"
    operands = _operands(word, row, pc)
    name = row.mnemonic
    negated = {ImmFormat.NEGATE_RS2: 20, ImmFormat.NEGATE_RD: 7}.get(row.imm)
    if negated is not None and word >> negated & 1:
        name += ".n"
    if row.imm is ImmFormat.B and not word & 1:
        name += ".hint"
    return f"{name} {', '.join(operands)}" if operands else name


def _rounding(word: int) -> str | None:
    """The rounding mode: empty for that of frm, None if the instruction has none."""
    mode = word >> 12 & 7
    if mode == DYN:
        return ""
    return _ROUNDING[mode] if mode < len(_ROUNDING) else None


def _operands(word: int, row: Instruction, pc: int) -> list[str]:
    rd = [_register(word, 7, row.rd)] if row.rd else []
    sources = [
        _register(word, low, file) for low, file in ((15, row.rs1), (20, row.rs2), (27, row.rs3)) if file is not None
    ]
    if row.unit is Unit.LSU:
        offset = _signed(word, 31, 20) if rd else _signed(word, 31, 25) << 5 | word >> 7 & 31
        return [*(rd or sources[1:]), f"{offset}({sources[0]})"]
    if row.mnemonic == "jalr":
        return [*rd, f"{_signed(word, 31, 20)}({sources[0]})"]
    if row.imm is ImmFormat.CSR:
        number = word >> 20
        name = Csr(number).name.lower() if number in set(Csr) else f"{number:#x}"
        return [*rd, name, *(sources or [str(word >> 15 & 31)])]
    return [*rd, *sources, *filter(None, [_last(word, row, pc)])]


def _last(word: int, row: Instruction, pc: int) -> str | None:
    """The operand after the registers, if there is one: immediate, target or rounding mode."""
    if row.imm in (ImmFormat.B, ImmFormat.J):
        return f"{pc + _offset(word, row) & 0xFFFF_FFFF:#010x}"
    if row.imm is ImmFormat.U:
        return f"{word >> 12:#x}"
    if row.imm is ImmFormat.I:
        shift = row.mask >> 25 != 0
        return str(word >> 20 & 31 if shift else _signed(word, 31, 20))
    return _rounding(word) if row.rm else None
