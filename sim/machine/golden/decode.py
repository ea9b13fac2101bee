"""Decode instruction words into executable instructions, strictly: a word that is not in these tables is illegal.

Written from the RISC-V unprivileged specification (20191213, chapters 2, 7, 9, 11 and 24; Zicond 1.0) and isa.md,
independent of ``hdl.isa``, so that lock step compares two readings of the text. Fields that the specification tells
implementations to ignore (``fence``, ``fence.i``), and fields that a SIMT instruction does not use, are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from metronome.hdl.config import FaultCause

from ..memory.store import SparseMemory
from . import csr, float_ops, memory_ops, simt
from .control import branch, fault, illegal, jal, jalr, next_instruction
from .integer import binary, constant, immediate
from .records import FaultError
from .view import DISCARD

__all__ = ["Instruction", "decode", "fetch"]


@dataclass(slots=True)
class Instruction:
    """A decoded word, independent of the configuration.

    ``execute(state, view, pc)`` returns None (the next pc is pc + 4) or, if ``control``, the next pc of the warps (see
    :mod:`sim.machine.golden.control`). ``alone``: it executes one warp at a time. ``rd`` is as in
    :class:`sim.machine.golden.records.Commit`. ``store`` is (rs1, rs2, imm, size).
    """

    word: int
    name: str
    execute: Callable
    rd: int | None = None
    control: bool = False
    alone: bool = False
    store: tuple[int, int, int, int] | None = None
    volatile: bool = False


@dataclass(slots=True, frozen=True)
class _Fields:
    word: int

    def bits(self, high: int, low: int) -> int:
        return self.word >> low & (1 << high - low + 1) - 1

    def signed(self, high: int, low: int) -> int:
        return self.bits(high, low) - (self.bits(high, high) << high - low + 1)

    @property
    def rd(self) -> int:
        return self.bits(11, 7)

    @property
    def target(self) -> int:
        """The integer register to write, with DISCARD for x0."""
        return self.rd or DISCARD

    @property
    def funct3(self) -> int:
        return self.bits(14, 12)

    @property
    def rs1(self) -> int:
        return self.bits(19, 15)

    @property
    def rs2(self) -> int:
        return self.bits(24, 20)

    @property
    def funct7(self) -> int:
        return self.bits(31, 25)


_BRANCHES = {0: "beq", 1: "bne", 4: "blt", 5: "bge", 6: "bltu", 7: "bgeu"}
#: funct3 to (name, size, signed).
_LOADS = {0: ("lb", 1, True), 1: ("lh", 2, True), 2: ("lw", 4, False), 4: ("lbu", 1, False), 5: ("lhu", 2, False)}
_STORES = {0: ("sb", 1), 1: ("sh", 2), 2: ("sw", 4)}
_IMMEDIATES = {0: "add", 2: "slt", 3: "sltu", 4: "xor", 6: "or", 7: "and"}
#: (funct7, funct3) to the operation, also for shifts by an immediate.
_SHIFTS = {(0, 1): "sll", (0, 5): "srl", (0x20, 5): "sra"}
_REGISTER = {
    **_SHIFTS,
    (0, 0): "add", (0x20, 0): "sub", (0, 2): "slt", (0, 3): "sltu", (0, 4): "xor", (0, 6): "or", (0, 7): "and",
    (1, 0): "mul", (1, 1): "mulh", (1, 2): "mulhsu", (1, 3): "mulhu",
    (1, 4): "div", (1, 5): "divu", (1, 6): "rem", (1, 7): "remu",
    (7, 5): "czero.eqz", (7, 7): "czero.nez",
}  # fmt: skip
_SYSTEM = {
    0x00000073: ("ecall", fault(FaultCause.ENVIRONMENT_CALL)),
    0x00100073: ("ebreak", fault(FaultCause.BREAKPOINT)),
    0x30200073: ("mret", next_instruction),
}
_CSR_OPERATIONS = {1: "rw", 2: "rs", 3: "rc"}
_FUSED = {0x43: "fmadd.s", 0x47: "fmsub.s", 0x4B: "fnmsub.s", 0x4F: "fnmadd.s"}
_FLOAT_ROUNDED = {0x00: "fadd.s", 0x04: "fsub.s", 0x08: "fmul.s", 0x0C: "fdiv.s"}
#: (funct7, rs2) to the name: one operand, rounded.
_FLOAT_UNARY = {
    (0x2C, 0): "fsqrt.s", (0x60, 0): "fcvt.w.s", (0x60, 1): "fcvt.wu.s", (0x68, 0): "fcvt.s.w", (0x68, 1): "fcvt.s.wu",
}  # fmt: skip
#: (funct7, funct3) to the name: two operands, nothing rounded.
_FLOAT_BINARY = {
    (0x10, 0): "fsgnj.s", (0x10, 1): "fsgnjn.s", (0x10, 2): "fsgnjx.s", (0x14, 0): "fmin.s", (0x14, 1): "fmax.s",
    (0x50, 0): "fle.s", (0x50, 1): "flt.s", (0x50, 2): "feq.s",
}  # fmt: skip
#: (funct7, funct3), rs2 field 0.
_FLOAT_MOVES = {(0x70, 0): "fmv.x.w", (0x70, 1): "fclass.s", (0x78, 0): "fmv.w.x"}
_TO_INTEGER = {"fcvt.w.s", "fcvt.wu.s", "fle.s", "flt.s", "feq.s", "fmv.x.w", "fclass.s"}
_FROM_INTEGER = {"fcvt.s.w", "fcvt.s.wu", "fmv.w.x"}
_FP = 32


def _upper(f: _Fields) -> Instruction:
    relative = f.bits(6, 0) == 0x17
    execute = constant(f.target, f.word & 0xFFFFF000, relative=relative)
    return Instruction(f.word, "auipc" if relative else "lui", execute, rd=f.rd)


def _jal(f: _Fields) -> Instruction:
    offset = f.signed(31, 31) << 20 | f.bits(19, 12) << 12 | f.bits(20, 20) << 11 | f.bits(30, 21) << 1
    return Instruction(f.word, "jal", jal(f.target, offset), rd=f.rd, control=True)


def _jalr(f: _Fields) -> Instruction | None:
    if f.funct3 != 0:
        return None
    return Instruction(f.word, "jalr", jalr(f.target, f.rs1, f.signed(31, 20)), rd=f.rd, control=True)


def _branch(f: _Fields) -> Instruction | None:
    name = _BRANCHES.get(f.funct3)
    if name is None:
        return None
    offset = f.signed(31, 31) << 12 | f.bits(7, 7) << 11 | f.bits(30, 25) << 5 | f.bits(11, 8) << 1
    return Instruction(f.word, name, branch(name, f.rs1, f.rs2, offset), control=True)


def _load(f: _Fields) -> Instruction | None:
    if f.funct3 not in _LOADS:
        return None
    name, size, signed = _LOADS[f.funct3]
    execute = memory_ops.load(f.target, f.rs1, f.signed(31, 20), size, signed=signed)
    return Instruction(f.word, name, execute, rd=f.rd)


def _store_of(f: _Fields, name: str, rs2: int, size: int) -> Instruction:
    imm = f.signed(31, 25) << 5 | f.rd
    execute = memory_ops.store(f.rs1, rs2, imm, size)
    return Instruction(f.word, name, execute, store=(f.rs1, rs2, imm & 0xFFFF_FFFF, size))


def _store(f: _Fields) -> Instruction | None:
    if f.funct3 not in _STORES:
        return None
    name, size = _STORES[f.funct3]
    return _store_of(f, name, f.rs2, size)


def _float_load(f: _Fields) -> Instruction | None:
    if f.funct3 != 2:
        return None
    execute = memory_ops.load(_FP + f.rd, f.rs1, f.signed(31, 20), 4, signed=False)
    return Instruction(f.word, "flw", execute, rd=_FP + f.rd)


def _float_store(f: _Fields) -> Instruction | None:
    return _store_of(f, "fsw", _FP + f.rs2, 4) if f.funct3 == 2 else None


def _immediate(f: _Fields) -> Instruction | None:
    name = _IMMEDIATES.get(f.funct3)
    value = f.signed(31, 20)
    if name is None:
        name, value = _SHIFTS.get((f.funct7, f.funct3)), f.rs2
        if name is None:
            return None
    execute = immediate(name, f.rd, f.rs1, value) if f.rd else next_instruction
    return Instruction(f.word, "sltiu" if name == "sltu" else name + "i", execute, rd=f.rd)


def _register(f: _Fields) -> Instruction | None:
    name = _REGISTER.get((f.funct7, f.funct3))
    if name is None:
        return None
    execute = binary(name, f.rd, f.rs1, f.rs2) if f.rd else next_instruction
    return Instruction(f.word, name, execute, rd=f.rd)


def _fence(f: _Fields) -> Instruction | None:
    return Instruction(f.word, ("fence", "fence.i")[f.funct3], next_instruction) if f.funct3 < 2 else None


def _system(f: _Fields) -> Instruction | None:
    if f.funct3 & 3 == 0:
        found = _SYSTEM.get(f.word)
        return None if found is None else Instruction(f.word, *found)
    operation, number = _CSR_OPERATIONS[f.funct3 & 3], f.bits(31, 20)
    from_register = f.funct3 < 4
    writes = operation == "rw" or f.rs1 != 0
    execute = csr.access(number, f.target, operation, f.rs1 if from_register else None, f.rs1, writes=writes)
    name = f"csrr{operation[1]}" + ("" if from_register else "i")
    return Instruction(f.word, name, execute, rd=f.rd, alone=writes, volatile=csr.is_volatile(number))


def _fused(f: _Fields) -> Instruction | None:
    if f.bits(26, 25) != 0 or f.funct3 in (5, 6):
        return None
    name, sources = _FUSED[f.bits(6, 0)], (_FP + f.rs1, _FP + f.rs2, _FP + f.bits(31, 27))
    execute = float_ops.computation(name, _FP + f.rd, sources, f.funct3, f.word)
    return Instruction(f.word, name, execute, rd=_FP + f.rd)


def _float_name(f: _Fields) -> tuple[str, bool] | None:
    """Return the name of an OP-FP instruction and whether it has a second operand."""
    if f.funct3 not in (5, 6):
        if f.funct7 in _FLOAT_ROUNDED:
            return _FLOAT_ROUNDED[f.funct7], True
        if (f.funct7, f.rs2) in _FLOAT_UNARY:
            return _FLOAT_UNARY[f.funct7, f.rs2], False
    if (f.funct7, f.funct3) in _FLOAT_BINARY:
        return _FLOAT_BINARY[f.funct7, f.funct3], True
    if f.rs2 == 0 and (f.funct7, f.funct3) in _FLOAT_MOVES:
        return _FLOAT_MOVES[f.funct7, f.funct3], False
    return None


def _float(f: _Fields) -> Instruction | None:
    found = _float_name(f)
    if found is None:
        return None
    name, two = found
    rd, target = (f.rd, f.target) if name in _TO_INTEGER else (_FP + f.rd, _FP + f.rd)
    rs1 = f.rs1 if name in _FROM_INTEGER else _FP + f.rs1
    execute: Callable
    if name.startswith("fsgnj"):
        execute = binary(name, target, rs1, _FP + f.rs2)
    elif name.startswith("fmv"):
        execute = float_ops.move(target, rs1)
    else:
        sources = (rs1, _FP + f.rs2) if two else (rs1,)
        execute = float_ops.computation(name, target, sources, f.funct3, f.word)
    return Instruction(f.word, name, execute, rd=rd)


def _simt(f: _Fields) -> Instruction | None:
    makers: dict[int, Callable[[], Instruction]] = {
        0: lambda: Instruction(f.word, "tmc", simt.tmc(f.rs1), control=True, alone=True),
        1: lambda: Instruction(f.word, "wspawn", simt.wspawn(f.rs1, f.rs2), control=True, alone=True),
        2: lambda: Instruction(f.word, "split", simt.split(f.target, f.rs1, bool(f.rs2 & 1)), rd=f.rd, control=True),
        3: lambda: Instruction(f.word, "join", simt.join(f.rs1), control=True),
        4: lambda: Instruction(f.word, "bar", simt.bar(f.rs1, f.rs2), control=True, alone=True),
        5: lambda: Instruction(f.word, "pred", simt.pred(f.rs1, f.rs2, bool(f.rd & 1)), control=True),
    }
    make = makers.get(f.funct3) if f.funct7 == 0 else None
    return None if make is None else make()


_OPCODES: dict[int, Callable[[_Fields], Instruction | None]] = {
    0x37: _upper, 0x17: _upper, 0x6F: _jal, 0x67: _jalr, 0x63: _branch, 0x03: _load, 0x23: _store, 0x13: _immediate,
    0x33: _register, 0x0F: _fence, 0x73: _system, 0x07: _float_load, 0x27: _float_store, 0x53: _float, 0x0B: _simt,
    0x43: _fused, 0x47: _fused, 0x4B: _fused, 0x4F: _fused,
    0x62: _branch,  # with a hint (isa.md, "Hints"), which changes no result
}  # fmt: skip
#: The opcodes of F.
_FLOAT_OPCODES = frozenset((0x07, 0x27, 0x43, 0x47, 0x4B, 0x4F, 0x53))
#: By word, with and without an FPU.
_caches: dict[bool, dict[int, Instruction]] = {True: {}, False: {}}


def decode(word: int, *, fpu: bool = True) -> Instruction:
    """Return the instruction of a 32-bit word, decoded once; an illegal one faults when it executes.

    Without ``fpu``, so does every instruction of F.
    """
    cache = _caches[fpu]
    found = cache.get(word)
    if found is None:
        handler = _OPCODES.get(word & 0x7F)
        if not fpu and word & 0x7F in _FLOAT_OPCODES:
            handler = None
        found = None if handler is None else handler(_Fields(word))
        if found is None:
            found = Instruction(word, "illegal", illegal(word))
        elif found.rd == 0:
            found.rd = None
        cache[word] = found
    return found


def fetch(memory: SparseMemory, pc: int, warp: int, stacks: range, fpu: bool) -> Instruction:
    """Return the instruction at ``pc``; ``warp`` takes the fault if it cannot be fetched or ``pc`` is in ``stacks``."""
    found = memory.remembered.get(pc)
    if found is not None and pc not in stacks:
        return found
    if pc & 3:
        raise FaultError(FaultCause.FETCH_MISALIGNED, warp, pc)
    if not memory.contains(pc, 4) or pc in stacks:
        raise FaultError(FaultCause.FETCH_ACCESS, warp, pc)
    found = decode(memory.read_word(pc), fpu=fpu)
    memory.remember(pc, found)
    return found
