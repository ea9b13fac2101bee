"""RV32IMF against the Unicorn emulator: random scalar programs, every register after every instruction."""

import random

import pytest

from metronome.hdl.config import SmConfig
from metronome.sim.machine.golden import Iss
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden import scalar_programs
from tests.support.tiers import slow_then_more

ONE_LANE = SmConfig(warps=1, threads=1)
#: Instructions executed for each seed; with the seeds below well above 10 000 in all of either kind.
PER_SEED = 1500
SEEDS = range(10)


@pytest.mark.parametrize("floats", [False, True], ids=["RV32IM", "RV32IMF"])
@pytest.mark.parametrize("seed", slow_then_more(SEEDS, 1, 3))
def test_scalar_programs_agree_with_unicorn(seed, floats):
    rng = random.Random(seed)
    program = scalar_programs.random_program(rng, 400, floats=floats)
    image, end = program.assemble(), program.here
    memory = SparseMemory()
    memory.write(scalar_programs.CODE, image)
    data = rng.randbytes(scalar_programs.DATA_BYTES)
    memory.write(scalar_programs.DATA, data)
    iss = Iss(ONE_LANE, memory)
    iss.launch(scalar_programs.CODE, 0)
    referee = scalar_programs.Referee(image, data)
    registers = range(64 if floats else 32)
    executed = 0
    while iss.pc[0] != end and executed < PER_SEED:
        pc = iss.pc[0]
        assert pc == referee.pc
        referee.step()
        commit = iss.step(0)
        executed += 1
        where = f"seed {seed}, instruction {executed} ({commit.instr:#010x}) at {pc:#010x}"
        assert commit.fault is None, where
        assert iss.regs[0, registers, 0].tolist() == [referee.register(number) for number in registers], where
        assert iss.fcsr[0] == referee.fcsr, where
        assert iss.pc[0] == referee.pc, where
    assert executed == PER_SEED, f"seed {seed}: the program is too short"
    left = memory.read(scalar_programs.DATA, scalar_programs.DATA_BYTES)
    assert left == referee.data(), f"seed {seed}: memory differs"


def test_every_operation_on_edge_operands():
    """All pairs of edge operands through every register operation."""
    program = asm.Program(scalar_programs.CODE)
    for a in scalar_programs.EDGES:
        for b in scalar_programs.EDGES:
            program.li(1, a)
            program.li(2, b)
            program.add(*(op(3 + i, 1, 2) for i, op in enumerate(scalar_programs.REGISTER_OPS)))
            program.label(f"{a},{b}")
    program.label("end")
    image = program.assemble()
    memory = SparseMemory()
    memory.write(scalar_programs.CODE, image)
    iss, referee = Iss(ONE_LANE, memory), scalar_programs.Referee(image)
    for a in scalar_programs.EDGES:
        for b in scalar_programs.EDGES:
            stop = program.address(f"{a},{b}")
            referee.run(stop)
            while iss.pc[0] != stop:
                assert iss.step(0).fault is None
            theirs = [referee.register(number) for number in range(32)]
            assert iss.regs[0, :32, 0].tolist() == theirs, f"operands {a:#x}, {b:#x}"
