"""A program for every instruction of the decode table, made from its row: no row can be left out.

All warps and lanes run it with operands of their own, edge values among them; x0 and equal registers occur everywhere.
"""

import random

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import FLOAT_UNITS, Unit
from metronome.hdl.isa.table import Instruction, RegFile
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program

__all__ = ["make_program"]

#: Integer and floating-point bit patterns at which something changes.
INTEGERS = (0, 1, 2, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF)
FLOATS = (
    0x0000_0000, 0x8000_0000, 0x0000_0001, 0x807F_FFFF, 0x0080_0000, 0x3F80_0000, 0xBF80_0001, 0x3F00_0000,
    0x4B80_0001, 0x4EFF_FFFF, 0x4F00_0000, 0xCF00_0000, 0x4F80_0000, 0x7F7F_FFFF, 0x7F80_0000, 0xFF80_0000,
    0x7FC0_0000, 0xFFC1_2345, 0x7F80_0001,
)
#: x1..x15 and f0..f15 hold operands. The rest is the program's own.
OPERANDS = range(1, 16)
BASE, SCRATCH, SAVED, COUNT = 16, 17, 18, 19
ROUNDS, PER_ROUND = 5, 5
#: Each hart's data: its operands, and room for its stores.
BLOCK = 256
#: CSRs that any access may touch; mregion only starts or stops the counters.
CSRS = (0x001, 0x002, 0x003, 0x300, 0x301, 0x305, 0x340, 0x7C0, 0xB00, 0xB02, 0xB03, 0xB80, 0xCC0, 0xCC1, 0xCC2, 0xCC4,
        0xF11, 0xF14, 0xFC0, 0xFC1, 0xFC2, 0xFC3)
READ_ONLY = 0xC00


def make_program(row: Instruction, config: SmConfig, seed: str) -> Program:
    """The instruction of ``row`` many times in the ways that it can be used; data behind the code.

    ``ecall`` and ``ebreak`` end the program with their fault.
    """
    rng = random.Random(f"{seed}/{row.mnemonic}")
    p = Program(config.memory_map.start)
    p.li(COUNT, config.warps)
    p.la(SCRATCH, "all")
    p.add(asm.wspawn(COUNT, SCRATCH))
    p.label("all")
    p.add(*asm.li(SCRATCH, -1), asm.tmc(SCRATCH), *asm.li(COUNT, config.warps))
    # Every hart its block of data.
    p.add(asm.csrr(SCRATCH, 0xF14), *asm.li(BASE, BLOCK), asm.mul(SCRATCH, SCRATCH, BASE))
    p.la(BASE, "data")
    p.add(asm.add(BASE, BASE, SCRATCH))
    for number in range(ROUNDS):
        for register in OPERANDS:
            offset = 4 * rng.randrange(32)
            p.add(asm.lw(register, offset, BASE), asm.flw(register, offset + 4 * rng.randrange(2), BASE))
        for turn in range(PER_ROUND):
            _use(p, row, rng, f"{number}_{turn}", config)
    p.add(asm.tmc(0))
    while p.here % 64:
        p.add(0)
    p.label("data")
    for _ in range(config.harts):
        p.add(*(rng.choice((rng.choice(INTEGERS), rng.choice(FLOATS), rng.getrandbits(32))) for _ in range(BLOCK // 4)))
    return p


def _use(p: Program, row: Instruction, rng: random.Random, label: str, config: SmConfig) -> None:
    """One use of the instruction, with what it needs around it."""
    if row.unit in (Unit.ALU, Unit.MUL, Unit.DIV, *FLOAT_UNITS):
        p.add(_encode(row, rng, rm=rng.choice((0, 1, 2, 3, 4, asm.DYN))))
        if row.unit in FLOAT_UNITS:
            # The flags so far, and the mode for those with the dynamic one.
            p.add(asm.csrr(rng.choice(OPERANDS), 0x001) if rng.random() < 0.4
                  else asm.csrrwi(0, 0x002, rng.randrange(5)))
    elif row.unit is Unit.LSU:
        _memory(p, row, rng)
    elif row.unit is Unit.CSR:
        _csr(p, row, rng)
    elif row.unit is Unit.BRANCH:
        _branch(p, row, rng, label)
    elif row.unit is Unit.SIMT:
        _simt(p, row, rng, label, config)
    else:
        p.add(_encode(row, rng))


def _encode(row: Instruction, rng: random.Random, *, rm: int = 0, **fields: int) -> int:
    """The row with random registers and free bits; ``fields``: rd, rs1, rs2, or imm for bits 31..20, where given."""
    word = row.match | rng.getrandbits(32) & ~row.mask & 0xFFFF_FFFF
    for operand, low in (("rd", 7), ("rs1", 15), ("rs2", 20), ("rs3", 27)):
        kind = getattr(row, operand)
        if kind is not None and row.mask >> low & 0x1F == 0:
            # One of two destinations is not used, so that integer results go to x0, too.
            number = rng.choice((0, *OPERANDS)) if operand == "rd" and kind is RegFile.INT else rng.choice(OPERANDS)
            word = word & ~(0x1F << low) | fields.get(operand, number) << low
    if "imm" in fields:
        word = word & 0x000F_FFFF | (fields["imm"] & 0xFFF) << 20
    if row.rm:
        word = word & ~0x7000 | rm << 12
    assert word & row.mask == row.match
    return word


def _memory(p: Program, row: Instruction, rng: random.Random) -> None:
    """In the hart's own block; what was stored is read again."""
    size = 1 << (row.op.value & 3)
    offset = rng.randrange(BLOCK // size) * size
    store = row.rd is None
    word = _encode(row, rng, rs1=BASE)
    if store:
        p.add(word & 0x01FF_F07F | (offset >> 5) << 25 | (offset & 31) << 7)
        p.add(asm.lw(rng.choice(OPERANDS), offset & ~3, BASE))
    else:
        p.add(word & 0x000F_FFFF | offset << 20)


def _csr(p: Program, row: Instruction, rng: random.Random) -> None:
    """Writes to read-only numbers are faults: they are read. No rounding mode is used after what was written."""
    number = rng.choice(CSRS)
    may_write = number & READ_ONLY != READ_ONLY
    source = rng.randrange(16) if may_write else 0
    if may_write or not row.mnemonic.startswith("csrrw"):
        p.add(_encode(row, rng) & 0x0000_7FFF | number << 20 | source << 15)


def _branch(p: Program, row: Instruction, rng: random.Random, label: str) -> None:
    """Over one instruction or not; the operands are those of the highest lane in all lanes."""
    if row.mnemonic == "jal":
        p.jal(rng.choice((0, *OPERANDS)), label)
    elif row.mnemonic == "jalr":
        p.la(SCRATCH, label)
        offset = rng.randrange(-2047, 2047)
        p.add(asm.addi(SCRATCH, SCRATCH, -offset))
        # Bit 0 of the target is dropped.
        p.add(_encode(row, rng, rs1=SCRATCH, imm=offset + rng.randrange(2) if offset % 2 == 0 else offset))
    else:
        values = [rng.choice((*INTEGERS, rng.getrandbits(32))) for _ in range(2)]
        p.add(*asm.li(1, values[0]), *asm.li(2, rng.choice(values)))
        p.branch(lambda a, b, distance: _with_distance(row, a, b, distance), 1, 2, label)
    p.add(asm.addi(3, 3, 1))
    p.label(label)


def _with_distance(row: Instruction, rs1: int, rs2: int, distance: int) -> int:
    beq = asm.beq(rs1, rs2, distance)
    return beq & ~0x7000 | row.match & 0x7000


def _simt(p: Program, row: Instruction, rng: random.Random, label: str, config: SmConfig) -> None:
    everyone = (1 << config.threads) - 1
    if row.mnemonic == "tmc":
        p.li(SCRATCH, rng.randrange(1, everyone + 1))
        p.add(_encode(row, rng, rs1=SCRATCH), asm.add(1, 2, 3), *asm.li(SCRATCH, everyone), asm.tmc(SCRATCH))
    elif row.mnemonic == "wspawn":
        # All warps arrive, then all but warp 0 end; it waits for that, and starts them again behind the wait.
        p.add(asm.csrr(SCRATCH, 0xCC1))
        p.branch(asm.bne, SCRATCH, 0, f"end{label}")
        p.la(SCRATCH, f"again{label}")
        p.add(_encode(row, rng, rs1=COUNT, rs2=SCRATCH))
        p.jal(0, f"again{label}")
        p.label(f"end{label}")
        p.add(asm.tmc(0))
        p.label(f"again{label}")
        p.add(*asm.li(SCRATCH, -1), asm.tmc(SCRATCH))
    elif row.mnemonic in ("split", "join"):
        split = asm.split(SAVED, rng.choice(OPERANDS), rng.random() < 0.5)
        p.add(_encode(row, rng, rd=SAVED) if row.mnemonic == "split" else split, asm.addi(1, 1, 1))
        p.add(_encode(row, rng, rs1=SAVED) if row.mnemonic == "join" else asm.join(SAVED))
    elif row.mnemonic == "bar":
        p.add(*asm.li(SCRATCH, rng.randrange(config.barriers)), _encode(row, rng, rs1=SCRATCH, rs2=COUNT))
    else:
        p.add(*asm.li(SCRATCH, everyone), _encode(row, rng, rs2=SCRATCH), asm.addi(1, 1, 1), asm.tmc(SCRATCH))
