"""Registers and effects of an assembly instruction of the machine (isa.md), from its text."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

__all__ = ["CALLER_SAVED", "CONDITIONS", "FREE", "INTEGER", "INVERSE", "NAMES", "SP", "ZERO", "Instruction", "bits",
           "mask", "parse", "register"]

_X = ("zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6").split()
_F = (
    "ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 fs0 fs1 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 "
    "fs2 fs3 fs4 fs5 fs6 fs7 fs8 fs9 fs10 fs11 ft8 ft9 ft10 ft11"
).split()
#: Number of a register by its name: integer registers 0 to 31, floating point 32 to 63.
_NUMBERS = {
    **{name: number for number, name in enumerate([*_X, *_F])},
    **{f"x{number}": number for number in range(32)},
    **{f"f{number}": number + 32 for number in range(32)},
    "fp": 8,
}
NAMES = [*_X, *_F]
#: Numbers of the integer registers by name.
INTEGER = {name: number for number, name in enumerate(_X)}
ZERO, RA, SP = range(3)


def register(name: str) -> int:
    """The number of a register."""
    return _NUMBERS[name]


def mask(names: str) -> int:
    """The set of these registers, a bit each."""
    return sum(1 << _NUMBERS[name] for name in names.split())


def bits(registers: int) -> Iterator[int]:
    """The numbers in a set of registers."""
    while registers:
        last = registers & -registers
        yield last.bit_length() - 1
        registers -= last


#: Registers that a call may change.
CALLER_SAVED = mask("ra t0 t1 t2 t3 t4 t5 t6 a0 a1 a2 a3 a4 a5 a6 a7 ft0 ft1 ft2 ft3 ft4 ft5 ft6 ft7 ft8 ft9 ft10 ft11 "
                    "fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7")
_ARGUMENTS = mask("a0 a1 a2 a3 a4 a5 a6 a7 fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7")
_RESULTS = mask("a0 a1 fa0 fa1")
# s0, s1 and gp are not the function's (places.py).
_CALLEE_SAVED = ((1 << 64) - 1) & ~CALLER_SAVED & ~mask("zero gp s0 s1")
#: Registers for values that the pass adds, wherever the function does not need them.
FREE = tuple(_NUMBERS[name] for name in "t6 t5 t4 t3 t2 t1 t0 a7 a6 a5 a4 a3 a2 a1 a0".split())

#: Conditional branches, and their comparison in terms of the six with two operands.
CONDITIONS = {
    "beq": "eq", "bne": "ne", "blt": "lt", "bge": "ge", "bltu": "ltu", "bgeu": "geu",
    "beqz": "eq", "bnez": "ne", "bltz": "lt", "bgez": "ge",
    # These compare the other way round.
    "bgt": "gt", "ble": "le", "bgtu": "gtu", "bleu": "leu", "bgtz": "gt", "blez": "le",
}
INVERSE = {
    "beq": "bne", "blt": "bge", "bltu": "bgeu", "beqz": "bnez", "bltz": "bgez", "bgt": "ble", "bgtu": "bleu",
    "bgtz": "blez",
}
INVERSE.update({value: key for key, value in INVERSE.items()})

_STORES = {"sb": 1, "sh": 2, "sw": 4, "fsw": 4}
_LOADS = {"lb": 1, "lbu": 1, "lh": 2, "lhu": 2, "lw": 4, "flw": 4}
_NO_OPERANDS = {"nop", "fence", "fence.i", "fence.tso", "ecall", "ebreak", "wfi", "mret", "pause"}
#: Instructions that do not write their first operand.
_CSR_ONLY_READ = {"csrw", "csrs", "csrc", "csrwi", "csrsi", "csrci"}
_COMPUTATIONS = set(
    "add addi sub and andi or ori xor xori sll slli srl srli sra srai slt slti sltu sltiu mul mulh mulhu mulhsu "
    "div divu rem remu mv li lui la lla not neg seqz snez sltz sgtz zext.b sext.b sext.h zext.h "
    "czero.eqz czero.nez "
    "fadd.s fsub.s fmul.s fdiv.s fsqrt.s fmadd.s fmsub.s fnmadd.s fnmsub.s fmin.s fmax.s fsgnj.s fsgnjn.s fsgnjx.s "
    "fmv.s fabs.s fneg.s feq.s flt.s fle.s fgt.s fge.s fclass.s fmv.x.w fmv.w.x fmv.x.s fmv.s.x "
    "fcvt.w.s fcvt.wu.s fcvt.s.w fcvt.s.wu".split()
)
_RESULT_FIRST = _COMPUTATIONS | set(
    "auipc csrr csrrw csrrs csrrc csrrwi csrrsi csrrci frcsr frrm frflags fsrmi fsflagsi "
    "rdcycle rdcycleh rdtime rdtimeh rdinstret rdinstreth".split()
)
#: Instructions whose result is 0 or 1.
_BOOLEAN = {"slt", "slti", "sltu", "sltiu", "seqz", "snez", "sltz", "sgtz", "feq.s", "flt.s", "fle.s", "fgt.s", "fge.s"}
_MEMORY = re.compile(r"^(?P<offset>.*)\((?P<base>\w+)\)$")
#: Lane and hart: CSRs with a different value in each lane.
_LANE_CSRS = {"0xcc0", "3264", "0xf14", "3860", "mhartid"}


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    ``reads`` and ``writes`` are sets of registers, a bit each. ``kind`` is ``plain``, ``load``, ``store``, ``branch``
    (conditional), ``jump``, ``indirect`` (a jump through a register), ``call``, ``return``, ``stop`` or ``simt``.
    """

    text: str
    op: str
    operands: tuple[str, ...]
    kind: str
    reads: int
    writes: int
    #: Bytes of a load or store.
    size: int = 0
    #: The target of a call: a symbol, or the register that holds the address.
    target: str = ""
    #: For a custom instruction (isa.md): its number, 4 for a barrier.
    simt: int | None = None
    #: The result differs in each lane, whatever it reads.
    lanes: bool = False
    #: It is from inline assembly.
    inline: bool = False
    #: It saves a register in the frame, or reloads it: no pointer leads to that word.
    spill: bool = False
    #: Its ``.loc``, without the directive's name.
    place: str = field(default="", compare=False)
    #: ``file:line`` of the source that it was written in or inlined into.
    source: str = field(default="", compare=False)

    @property
    def base(self) -> tuple[int, str] | None:
        """Register and offset of a load's or store's address, if it is written in that form."""
        found = _MEMORY.match(self.operands[-1]) if self.size else None
        return (register(found["base"]), found["offset"] or "0") if found and found["base"] in _NUMBERS else None

    @property
    def registers(self) -> tuple[int, ...]:
        """The registers among its operands, in order."""
        return tuple(_NUMBERS[operand] for operand in self.operands if operand in _NUMBERS)

    @property
    def is_computation(self) -> bool:
        """Whether its result depends only on its operands."""
        return self.kind == "plain" and self.op in _COMPUTATIONS

    @staticmethod
    def is_register(operand: str) -> bool:
        """Whether an operand is a register's name."""
        return operand in _NUMBERS

    @property
    def is_boolean(self) -> bool:
        """Whether the result is 0 or 1."""
        return self.op in _BOOLEAN or (self.op == "andi" and self.operands[-1] == "1") or (
            self.op == "li" and self.operands[-1] in ("0", "1")
        )


def _bits(operands: tuple[str, ...]) -> int:
    result = 0
    for operand in operands:
        found = _MEMORY.match(operand)
        name = found["base"] if found else operand
        if name in _NUMBERS:
            result |= 1 << _NUMBERS[name]
    return result & ~1


@functools.lru_cache(maxsize=1 << 16)
def parse(text: str) -> Instruction | None:
    """Parse a line without label and comment; None for an instruction that the pass does not know."""
    op, *others = text.split(None, 1)
    rest = others[0].strip() if others else ""
    operands = tuple(operand.strip() for operand in rest.split(",")) if rest else ()
    if op in CONDITIONS:
        return Instruction(text, op, operands, "branch", _bits(operands), 0, target=operands[-1])
    if op in _STORES:
        return Instruction(text, op, operands, "store", _bits(operands), 0, size=_STORES[op])
    if op in _LOADS:
        return Instruction(text, op, operands, "load", _bits(operands[1:]), _bits(operands[:1]), size=_LOADS[op])
    make = _KINDS.get(op, _plain)
    return make(text, op, operands)


def _plain(text: str, op: str, operands: tuple[str, ...]) -> Instruction | None:
    if op in _NO_OPERANDS or op in _CSR_ONLY_READ:
        return Instruction(text, op, operands, "plain", _bits(operands), 0)
    if op in _RESULT_FIRST:
        lanes = op.startswith("csr") and operands[1].lower() in _LANE_CSRS
        return Instruction(text, op, operands, "plain", _bits(operands[1:]), _bits(operands[:1]), lanes=lanes)
    return None


def _jump(text: str, op: str, operands: tuple[str, ...]) -> Instruction | None:
    if len(operands) == 1:
        return Instruction(text, op, operands, "jump", 0, 0, target=operands[0])
    if op == "jal" and operands[0] in ("zero", "x0"):
        return Instruction(text, op, operands, "jump", 0, 0, target=operands[1])
    return None


def _call(text: str, op: str, operands: tuple[str, ...]) -> Instruction | None:
    if len(operands) != 1:
        return None
    (target,) = operands
    reads = _ARGUMENTS | 1 << SP | _bits(operands)
    return Instruction(text, op, operands, "call", reads, CALLER_SAVED, target=target)


def _jalr(text: str, op: str, operands: tuple[str, ...]) -> Instruction | None:
    if len(operands) == 1:
        return _call(text, op, operands)
    if operands[0] in ("zero", "x0"):
        return Instruction(text, op, operands, "indirect", _bits(operands), 0)
    return None


def _indirect(text: str, op: str, operands: tuple[str, ...]) -> Instruction:
    if operands == ("ra",):
        return _return(text, op, ())
    return Instruction(text, op, operands, "indirect", _bits(operands), 0)


def _return(text: str, op: str, operands: tuple[str, ...]) -> Instruction:
    return Instruction(text, "ret", (), "return", _RESULTS | _CALLEE_SAVED | 1 << RA, 0)


def _stop(text: str, op: str, operands: tuple[str, ...]) -> Instruction:
    return Instruction(text, op, operands, "stop", 0, 0)


def _set_flags(text: str, op: str, operands: tuple[str, ...]) -> Instruction:
    """``fsrm`` and the like: a single operand is read; the first of two gets the old value."""
    two = len(operands) == 2
    return Instruction(text, op, operands, "plain", _bits(operands[-1:]), _bits(operands[:1]) if two else 0)


def _insn(text: str, op: str, operands: tuple[str, ...]) -> Instruction | None:
    """``.insn r opcode, funct3, funct7, rd, rs1, rs2``."""
    head, *others = operands
    form, _, opcode = head.partition(" ")
    if form != "r" or len(others) != 5:
        return None
    try:
        number = int(others[0], 0) if int(opcode, 0) == 0x0B else None
    except ValueError:
        return None
    result, sources = tuple(others[2:3]), tuple(others[3:])
    return Instruction(text, op, operands, "simt", _bits(sources), _bits(result), simt=number)


_KINDS: dict[str, Callable[[str, str, tuple[str, ...]], Instruction | None]] = {
    "j": _jump, "jal": _jump, "call": _call, "jalr": _jalr, "jr": _indirect, "ret": _return, "unimp": _stop,
    "fscsr": _set_flags, "fsrm": _set_flags, "fsflags": _set_flags, ".insn": _insn,
}
