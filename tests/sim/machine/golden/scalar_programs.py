"""Random scalar RV32IMF programs, and the Unicorn emulator (QEMU's RISC-V) as the referee of who executes them."""

import random

import unicorn
from unicorn import riscv_const

from metronome.sim.program.assembler import asm

CODE, DATA, DATA_BYTES = 0x8000_0000, 0x0010_0000, 0x1000

#: x31 points into the data, x30 counts loops, x29 holds jump targets; the rest is free.
FREE = range(29)
EDGES = (0, 1, 2, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0x80000001, 0x7FFFFFFF, 0xFF, 0x8000, 0xFFFF8000, 31, 32)
#: Zeros, subnormals, around one and the integers' ends, the largest, infinities, NaNs.
FLOAT_EDGES = (
    0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800001, 0x33800000, 0x4B000001, 0x4F000000, 0xCF000000,
    0x4F800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001,
)
REGISTER_OPS = (
    asm.add, asm.sub, asm.sll, asm.slt, asm.sltu, asm.xor, asm.srl, asm.sra, asm.or_, asm.and_,
    asm.mul, asm.mulh, asm.mulhsu, asm.mulhu, asm.div, asm.divu, asm.rem, asm.remu,
)  # fmt: skip
IMMEDIATE_OPS = (asm.addi, asm.slti, asm.sltiu, asm.xori, asm.ori, asm.andi)
SHIFTS = (asm.slli, asm.srli, asm.srai)
BRANCHES = (asm.beq, asm.bne, asm.blt, asm.bge, asm.bltu, asm.bgeu)
LOADS = ((asm.lb, 1), (asm.lbu, 1), (asm.lh, 2), (asm.lhu, 2), (asm.lw, 4))
STORES = ((asm.sb, 1), (asm.sh, 2), (asm.sw, 4))
ROUNDED = (asm.fadd_s, asm.fsub_s, asm.fmul_s, asm.fdiv_s)
FUSED = (asm.fmadd_s, asm.fmsub_s, asm.fnmsub_s, asm.fnmadd_s)
UNROUNDED = (asm.fsgnj_s, asm.fsgnjn_s, asm.fsgnjx_s, asm.fmin_s, asm.fmax_s)
COMPARE = (asm.feq_s, asm.flt_s, asm.fle_s)
MODES = (0, 1, 2, 3, 4, asm.DYN)


def random_integer(rng, program):
    """One instruction on integers that does not jump."""
    rd, rs1, rs2 = rng.choice(FREE), rng.choice(FREE), rng.choice(FREE)
    kind = rng.randrange(12)
    if kind < 5:
        program.add(rng.choice(REGISTER_OPS)(rd, rs1, rs2))
    elif kind < 6:
        program.add(rng.choice(IMMEDIATE_OPS)(rd, rs1, rng.choice([0, 1, -1, 2047, -2048, rng.randrange(-2048, 2048)])))
    elif kind < 7:
        program.add(rng.choice(SHIFTS)(rd, rs1, rng.randrange(32)))
    elif kind < 8:
        program.li(rd, rng.choice([*EDGES, rng.getrandbits(32)]))
    elif kind < 9:
        program.add(rng.choice([asm.lui, asm.auipc])(rd, rng.getrandbits(20)))
    elif kind < 10:
        op, size = rng.choice(LOADS)
        program.add(op(rd, rng.randrange(-2048 // size, 2048 // size) * size, 31))
    else:
        op, size = rng.choice(STORES)
        program.add(op(rs2, rng.randrange(-2048 // size, 2048 // size) * size, 31))


def random_float(rng, program):
    """One instruction of F, or an access to its CSRs."""
    x, y = rng.choice(FREE), rng.choice(FREE)
    rd, a, b, c = (rng.randrange(32) for _ in range(4))
    mode, offset = rng.choice(MODES), rng.randrange(-512, 512) * 4
    program.add(*rng.choice((
        lambda: [rng.choice(ROUNDED)(rd, a, b, mode)],
        lambda: [rng.choice(ROUNDED)(rd, a, a, mode)],
        lambda: [rng.choice(FUSED)(rd, a, b, c, mode)],
        lambda: [rng.choice(FUSED)(rd, a, b, c, mode)],
        lambda: [rng.choice(UNROUNDED)(rd, a, b)],
        lambda: [rng.choice(COMPARE)(x, a, b)],
        lambda: [asm.fsqrt_s(rd, a, mode)],
        lambda: [rng.choice((asm.fcvt_w_s, asm.fcvt_wu_s))(x, a, mode)],
        lambda: [rng.choice((asm.fcvt_s_w, asm.fcvt_s_wu))(rd, x, mode)],
        lambda: [rng.choice((asm.fclass_s, asm.fmv_x_w))(x, a)],
        lambda: [*asm.li(y, rng.choice(FLOAT_EDGES)), asm.fmv_w_x(rd, y)],
        lambda: [asm.fmv_w_x(rd, x)],
        lambda: [asm.flw(rd, offset, 31)],
        lambda: [asm.fsw(a, offset, 31)],
        lambda: [asm.csrrwi(x, 0x002, rng.randrange(5))],
        lambda: [asm.csrrs(x, 0x003, 0), asm.csrrci(0, 0x001, rng.randrange(32))],
    ))())


def random_program(rng: random.Random, blocks: int, *, floats: bool) -> asm.Program:
    """Straight pieces, forward branches over them, short loops, jal and jalr forward."""
    program = asm.Program(CODE)
    program.li(31, DATA + DATA_BYTES // 2)
    for register in range(32 if floats else 0):
        program.li(1, rng.choice([*FLOAT_EDGES, rng.getrandbits(32)]))
        program.add(asm.fmv_w_x(register, 1))
    for register in FREE:
        program.li(register, rng.choice([*EDGES, rng.getrandbits(32)]))
    for block in range(blocks):
        kind = rng.choice(["straight", "branch", "loop", "jal", "jalr"])
        skip = f"skip{block}"
        if kind == "branch":
            program.branch(rng.choice(BRANCHES), rng.choice(FREE), rng.choice(FREE), skip)
        elif kind == "loop":
            program.li(30, rng.randrange(1, 4))
            program.label(f"loop{block}")
        elif kind == "jal":
            program.jal(rng.choice(FREE), skip)
        elif kind == "jalr":
            program.la(29, skip)
            offset = rng.randrange(-2047, 2048)
            program.add(asm.addi(29, 29, -offset))
            # An odd target: bit 0 is dropped.
            program.add(asm.jalr(rng.choice([0, 1, 29, 5]), 29, offset | rng.randrange(2)))
        for _ in range(rng.randrange(1, 8)):
            (random_float if floats and rng.random() < 0.6 else random_integer)(rng, program)
        if kind == "loop":
            program.add(asm.addi(30, 30, -1))
            program.branch(asm.bne, 30, 0, f"loop{block}")
        program.label(skip)
    return program


def _signalling(value: int) -> bool:
    return value & 0x7FC0_0000 == 0x7F80_0000 and value & 0x003F_FFFF != 0


class Referee:
    """Unicorn, one instruction at a time.

    It is QEMU 5, older than the manual in two places, in which :meth:`step` does what the manual says: ``fmin.s`` and
    ``fmax.s`` of a signalling NaN and a number give the number (F 2.2; before it was a NaN), and infinity times zero is
    invalid even if a quiet NaN is added. ``mended`` counts them.
    """

    def __init__(self, image: bytes, data: bytes = b"") -> None:
        self._uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        self._uc.mem_map(CODE, 1 << 20)
        self._uc.mem_map(DATA, DATA_BYTES)
        self._uc.mem_write(CODE, image)
        self._uc.mem_write(DATA, data)
        # mstatus.FS: the FPU is on.
        self._uc.reg_write(riscv_const.UC_RISCV_REG_MSTATUS, 0x6000)
        self.pc = CODE
        self.mended = 0

    def step(self) -> int:
        """Executes one instruction; returns its word."""
        word = int.from_bytes(self._uc.mem_read(self.pc, 4), "little")
        mend = self._mend(word)
        self._uc.emu_start(self.pc, 0, count=1)
        self.pc = self._uc.reg_read(riscv_const.UC_RISCV_REG_PC)
        if mend is not None:
            self.mended += 1
            result, flags = mend
            if result is not None:
                # As QEMU keeps single precision: NaN-boxed.
                number = riscv_const.UC_RISCV_REG_F0 + (word >> 7 & 31)
                self._uc.reg_write(number, result | 0xFFFF_FFFF << 32)
            self._uc.reg_write(riscv_const.UC_RISCV_REG_FFLAGS, self.fcsr & 0x1F | flags)
        return word

    def run(self, stop: int) -> None:
        """Executes up to the instruction at ``stop``."""
        self._uc.emu_start(self.pc, stop)
        self.pc = stop

    def register(self, number: int) -> int:
        """x0..x31, f0..f31 as 32..63."""
        first = riscv_const.UC_RISCV_REG_X0 if number < 32 else riscv_const.UC_RISCV_REG_F0 - 32
        return self._uc.reg_read(first + number) & 0xFFFF_FFFF

    @property
    def fcsr(self) -> int:
        return self._uc.reg_read(riscv_const.UC_RISCV_REG_FCSR)

    def data(self) -> bytes:
        return bytes(self._uc.mem_read(DATA, DATA_BYTES))

    def _mend(self, word: int) -> tuple[int | None, int] | None:
        """What the manual wants instead: the result (None: as it is) and the flags to add; None for all else."""
        a, b, c = (self.register(32 + (word >> low & 31)) for low in (15, 20, 27))
        if word & 0xFE00_007F == 0x2800_0053 and _signalling(a) != _signalling(b):
            other = b if _signalling(a) else a
            return None if other & 0x7FFF_FFFF > 0x7F80_0000 else (other, 0x10)
        if word & 0x73 == 0x43:
            magnitudes = {a & 0x7FFF_FFFF, b & 0x7FFF_FFFF}
            if magnitudes == {0, 0x7F80_0000} and c & 0x7FFF_FFFF > 0x7F80_0000:
                return None, 0x10
        return None
