"""Faults of loads and stores, which are not precise, on the RTL in lock step.

What the SM reports is one that the golden model has too, and what it has issued behind is no mismatch.
"""

import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from metronome.sim.run.runner import RunRequest, run_many
from tests.support.builds import TINY, on
from tests.system.rtl_programs import RawProgram

pytestmark = on("TINY")

START = TINY.memory_map.start


def faults(program, runs=1):
    """The faults of ``runs`` runs (their seeds 0, 1, ..), in lock step, on a memory that answers in any order."""
    results = run_many(TINY, [
        RunRequest(
            launch=RawProgram(program.assemble()), policy="lrr", memory="random", latency=100, seed=seed,
            memory_options=MemoryOptions(adversarial=True), check=True, max_cycles=100_000,
        )
        for seed in range(runs)
    ])
    assert len(results) == runs
    for seed, result in enumerate(results):
        assert result.checked
        assert (result.status, result.mismatches, result.assertions) == ("fault", [], []), f"seed {seed}: {result}"
    return [result.fault for result in results]


def late_program(*words):
    p = Program()
    p.add(*words, *[asm.nop()] * 20, asm.tmc(0))
    return p


#: Nothing answers at either: below the program's memory, above local memory. They are lines of their own.
LOW, HIGH = 0, -0x800
HIGH_ADDRESS = 0xFFFF_F800


@pytest.mark.parametrize("second, cause", [(asm.lw, "LOAD_MISALIGNED"), (asm.sw, "STORE_MISALIGNED")])
def test_a_misaligned_one_behind_is_told_first(second, cause):
    program = late_program(asm.lw(8, LOW, 0), second(9, 0x22, 0))
    assert {(fault.cause.name, fault.pc, fault.address) for fault in faults(program)} == {(cause, START + 4, 0x22)}


@pytest.mark.slow
@pytest.mark.parametrize("first, second, causes", [
    (asm.sw, asm.lw, ("STORE_ACCESS", "LOAD_ACCESS")),
    pytest.param(asm.lw, asm.lw, ("LOAD_ACCESS", "LOAD_ACCESS"), marks=pytest.mark.more),
])
def test_two_that_memory_refuses_come_in_either_order(first, second, causes):
    program = late_program(first(8, LOW, 0), second(9, HIGH, 0))
    assert {(fault.cause.name, fault.pc, fault.address) for fault in faults(program, 4)} == {
        (causes[0], START, 0), (causes[1], START + 4, HIGH_ADDRESS),
    }


@pytest.mark.slow
def test_a_precise_one_behind_gives_way():
    found = {(fault.cause, fault.pc) for fault in faults(late_program(asm.lw(8, 0, 0), asm.nop(), asm.ebreak()), 2)}
    assert found == {(FaultCause.LOAD_ACCESS, START)}


@pytest.mark.slow
def test_warps_started_behind():
    """What the faulting warp starts runs on until memory has answered, and is compared."""
    p = Program()
    p.li(29, 2)
    p.la(30, "other")
    p.add(asm.lw(8, 0, 0), asm.wspawn(29, 30), *[asm.nop()] * 50, asm.tmc(0))
    p.label("other")
    p.add(*[asm.addi(9, 9, 1)] * 50, asm.tmc(0))
    assert {(fault.cause, fault.warp) for fault in faults(p)} == {(FaultCause.LOAD_ACCESS, 0)}
