"""RV32IM against the Unicorn emulator: random scalar programs, every register after every instruction."""

import random

import pytest
import unicorn
from unicorn import riscv_const

from hdl.config import SmConfig
from sim import asm
from sim.iss import Iss
from sim.memory.store import SparseMemory

CODE, DATA, DATA_BYTES = 0x8000_0000, 0x0010_0000, 0x1000
ONE_LANE = SmConfig(warps=1, threads=1)
#: Instructions executed for each seed; with the seeds below well above 10 000 in all.
PER_SEED = 1500
SEEDS = range(10)

#: x31 points into the data, x30 counts loops, x29 holds jump targets; the rest is free.
FREE = range(29)
EDGES = (0, 1, 2, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0x80000001, 0x7FFFFFFF, 0xFF, 0x8000, 0xFFFF8000, 31, 32)
REGISTER_OPS = (
    asm.add, asm.sub, asm.sll, asm.slt, asm.sltu, asm.xor, asm.srl, asm.sra, asm.or_, asm.and_,
    asm.mul, asm.mulh, asm.mulhsu, asm.mulhu, asm.div, asm.divu, asm.rem, asm.remu,
)  # fmt: skip
IMMEDIATE_OPS = (asm.addi, asm.slti, asm.sltiu, asm.xori, asm.ori, asm.andi)
SHIFTS = (asm.slli, asm.srli, asm.srai)
BRANCHES = (asm.beq, asm.bne, asm.blt, asm.bge, asm.bltu, asm.bgeu)
LOADS = ((asm.lb, 1), (asm.lbu, 1), (asm.lh, 2), (asm.lhu, 2), (asm.lw, 4))
STORES = ((asm.sb, 1), (asm.sh, 2), (asm.sw, 4))


def random_straight(rng, program):
    """One instruction that does not jump."""
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


def random_program(rng, blocks):
    """Straight pieces, forward branches over them, short loops, jal and jalr forward."""
    program = asm.Program(CODE)
    program.li(31, DATA + DATA_BYTES // 2)
    for register in FREE:
        program.li(register, rng.choice([*EDGES, rng.getrandbits(32)]))
    for block in range(blocks):
        body = rng.randrange(1, 8)
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
            offset = rng.randrange(-2048, 2048)
            program.add(asm.addi(29, 29, -offset if offset > -2048 else 0))
            # An odd target: bit 0 is dropped.
            program.add(asm.jalr(rng.choice([0, 1, 29, 5]), 29, (offset if offset > -2048 else 0) | rng.randrange(2)))
        for _ in range(body):
            random_straight(rng, program)
        if kind == "loop":
            program.add(asm.addi(30, 30, -1))
            program.branch(asm.bne, 30, 0, f"loop{block}")
        program.label(skip)
    return program


def make_unicorn(image):
    uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    uc.mem_map(CODE, 1 << 20)
    uc.mem_map(DATA, DATA_BYTES)
    uc.mem_write(CODE, image)
    return uc


REGISTERS = [riscv_const.UC_RISCV_REG_X0 + number for number in range(32)]


@pytest.mark.parametrize("seed", SEEDS)
def test_scalar_programs_agree_with_unicorn(seed):
    rng = random.Random(seed)
    program = random_program(rng, 400)
    image, end = program.assemble(), program.here
    memory = SparseMemory()
    memory.write(CODE, image)
    data = rng.randbytes(DATA_BYTES)
    memory.write(DATA, data)
    iss = Iss(ONE_LANE, memory)
    iss.launch(CODE, 0)
    uc = make_unicorn(image)
    uc.mem_write(DATA, data)
    executed = 0
    while iss.pc[0] != end and executed < PER_SEED:
        pc = iss.pc[0]
        uc.emu_start(pc, 0, count=1)
        commit = iss.step(0)
        executed += 1
        where = f"seed {seed}, instruction {executed} ({commit.instr:#010x}) at {pc:#010x}"
        assert commit.fault is None, where
        theirs = [uc.reg_read(number) for number in REGISTERS]
        assert iss.regs[0, :32, 0].tolist() == theirs, where
        assert iss.pc[0] == uc.reg_read(riscv_const.UC_RISCV_REG_PC), where
    assert executed == PER_SEED, f"seed {seed}: the program is too short"
    assert memory.read(DATA, DATA_BYTES) == bytes(uc.mem_read(DATA, DATA_BYTES)), f"seed {seed}: memory differs"


def test_every_operation_on_edge_operands():
    """All pairs of edge operands through every register operation."""
    program = asm.Program(CODE)
    for a in EDGES:
        for b in EDGES:
            program.li(1, a)
            program.li(2, b)
            program.add(*(op(3 + i, 1, 2) for i, op in enumerate(REGISTER_OPS)))
            program.label(f"{a},{b}")
    program.label("end")
    image = program.assemble()
    memory = SparseMemory()
    memory.write(CODE, image)
    iss, uc = Iss(ONE_LANE, memory), make_unicorn(image)
    for a in EDGES:
        for b in EDGES:
            stop = program.address(f"{a},{b}")
            uc.emu_start(iss.pc[0], stop)
            while iss.pc[0] != stop:
                assert iss.step(0).fault is None
            theirs = [uc.reg_read(number) for number in REGISTERS]
            assert iss.regs[0, :32, 0].tolist() == theirs, f"operands {a:#x}, {b:#x}"
