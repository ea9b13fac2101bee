"""Random RV32IMF programs on the RTL against Unicorn: pc, instruction and every register write, no golden model."""

import random
from dataclasses import dataclass

import numpy as np
import pytest

from metronome.sim.program.assembler import asm
from metronome.sim.run.runner import RunRequest, run_many
from tests.hdl.lib.simulate import told
from tests.sim.machine.golden.scalar_programs import DATA, DATA_BYTES, Referee, random_program
from tests.support.builds import BASE, TINY, on
from tests.support.tiers import some_more
from tests.system.rtl_programs import RawProgram

SEED = 20261124
#: Blocks of a program: about 1400 instructions are executed.
BLOCKS = 250
MEMORIES = (("fixed", 1), ("fixed", 20), ("random", 40))


@dataclass(frozen=True)
class ScalarProgram(RawProgram):
    """With its data in memory."""

    data: bytes = b""

    def load_into(self, memory):
        super().load_into(memory)
        memory.write(DATA, self.data)


def program_of(config, number):
    rng = random.Random(f"{SEED}/{number}")
    program = random_program(rng, BLOCKS, floats=True)
    end = program.here
    program.add(asm.tmc(0))
    launch = ScalarProgram(program.assemble(), data=rng.randbytes(DATA_BYTES))
    memory, latency = MEMORIES[number % len(MEMORIES)]
    return end, RunRequest(
        launch=launch, policy=rng.choice(config.policies), memory=memory, latency=latency, seed=number, trace=True,
        max_cycles=400_000,
    )


def destination(word):
    """The register that the instruction writes, f0 being 32; None for none and for x0 (unprivileged manual)."""
    opcode, rd, funct5 = word & 0x7F, word >> 7 & 31, word >> 27
    if opcode in (0x63, 0x23, 0x27):
        return None
    # Compare, fcvt.w, fmv.x and fclass write integers.
    to_float = opcode in (0x07, 0x43, 0x47, 0x4B, 0x4F) or (opcode == 0x53 and funct5 not in (0x14, 0x18, 0x1C))
    return rd + 32 if to_float else rd or None


def judge(request, end, result):
    """The instructions that agree and the referee; AssertionError at the first difference."""
    assert result.status == "ended", f"{result.status}, {result.fault}, {result.assertions}"
    referee = Referee(request.launch.image, request.launch.data)
    owed = {}
    count = 0
    events = result.events[(result.events["issue"]["valid"] | result.events["wb"]["valid"]) != 0]
    issue, wb = events["issue"], events["wb"]
    rows = zip(
        wb["valid"].tolist(), wb["value"]["rd"].tolist(), wb["value"]["data"][:, 0].tolist(),
        issue["valid"].tolist(), issue["pc"].tolist(), issue["instruction"].tolist(), strict=True,
    )
    for written, rd, value, issued, pc, word in rows:
        if written:
            assert owed.get(rd) == value, f"register {rd}: {value:#x}, expected {owed.get(rd)}"
            del owed[rd]
        if not issued or pc == end:
            continue
        assert pc == referee.pc, f"instruction {count}: pc {pc:#x}, expected {referee.pc:#x}"
        assert referee.step() == word, f"instruction {count} at {pc:#x}: {word:#010x}"
        count += 1
        target = destination(word)
        if target is not None:
            assert target not in owed, f"instruction {count}: register {target} is written twice at a time"
            owed[target] = referee.register(target)
    assert referee.pc == end and not owed, f"at the end: {referee.pc:#x}, {owed}"
    assert result.memory.read(DATA, DATA_BYTES) == referee.data(), "memory differs"
    return count, referee


def check(config, wanted):
    """Programs until ``wanted`` instructions have been compared."""
    count, mended, number = 0, 0, 0
    while count < wanted:
        jobs = [program_of(config, n) for n in range(number, number + 8)]
        results = run_many(config, [request for _, request in jobs])
        for (end, request), result in zip(jobs, results, strict=True):
            with told(f"seed {SEED}, program {number}"):
                executed, referee = judge(request, end, result)
            count, mended, number = count + executed, mended + referee.mended, number + 1
    assert mended * 100 < count, "the referee decides for itself"


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("wanted", some_more([10_000, 50_000], 1))
def test_random_programs_agree_with_unicorn(wanted):
    check(TINY, wanted)


@pytest.mark.long
@on("BASE")
def test_a_million_instructions_agree_with_unicorn():
    check(BASE, 1_000_000)


@on("TINY")
@pytest.mark.slow
def test_a_wrong_value_is_found():
    """One bit of one register write, and one store that is lost."""
    end, request = program_of(TINY, 0)
    (result,) = run_many(TINY, [request])
    judge(request, end, result)
    writes = np.flatnonzero(result.events["wb"]["valid"])
    result.events["wb"]["value"]["data"][writes[len(writes) // 2], 0] ^= 1
    with pytest.raises(AssertionError, match=r"^register "):
        judge(request, end, result)
    result.events["wb"]["value"]["data"][writes[len(writes) // 2], 0] ^= 1
    result.memory.write(DATA + 5, bytes([result.memory.read(DATA + 5, 1)[0] ^ 1]))
    with pytest.raises(AssertionError, match="memory differs"):
        judge(request, end, result)
