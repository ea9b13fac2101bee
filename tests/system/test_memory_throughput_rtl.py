"""What the memory system lets through, as programs see it: warp-instructions a cycle, and one warp's latencies.

With ``-s`` the tests print the tables of docs/memory.md.
"""

import pytest

from metronome.sim.program.assembler import asm
from metronome.sim.run.runner import RunRequest, run_many
from tests.support.builds import CROWD, MID, on
from tests.system.rtl_programs import RawProgram, problems

USER, LOCAL = 0x0001_0000, 0xFFFF_0000
THREAD_ID, WARP_ID, REGION = 0xCC0, 0xCC1, 0x7C0
#: Registers: addresses, all-ones, number of warps, 1, and what is free for results.
BASE_REG, ONES, COUNT, ONE, LANE, WARP, ROUNDS = 5, 6, 7, 8, 9, 10, 11
RESULTS = range(12, 28)
#: Of memory, in cycles.
LATENCY = 20


def measured(config, base, strides, offsets, instruction, rounds):
    """Every warp executes ``instruction(register, offset)`` for all ``offsets``, ``rounds`` times and once before.

    ``strides``: bytes from lane to lane and from warp to warp, powers of two.
    """
    program = asm.Program()
    program.li(COUNT, config.warps)
    program.la(28, "body")
    program.add(asm.wspawn(COUNT, 28))
    program.label("body")
    program.add(*asm.li(ONES, -1 & 0xFFFF_FFFF), asm.tmc(ONES), *asm.li(COUNT, config.warps), *asm.li(ONE, 1))
    lane_shift, warp_shift = (stride.bit_length() - 1 for stride in strides)
    program.add(asm.csrr(LANE, THREAD_ID), asm.csrr(WARP, WARP_ID))
    program.add(asm.slli(LANE, LANE, lane_shift), asm.slli(WARP, WARP, warp_shift), *asm.li(BASE_REG, base))
    program.add(asm.add(BASE_REG, BASE_REG, LANE), asm.add(BASE_REG, BASE_REG, WARP))
    program.li(ROUNDS, rounds + 1)
    # The first round brings in the lines and the code.
    program.label("round")
    for number, offset in enumerate(offsets):
        program.add(instruction(RESULTS[number % len(RESULTS)], offset))
    program.add(asm.addi(ROUNDS, ROUNDS, -1))
    program.add(asm.fence(), asm.addi(28, 0, 0), asm.bar(28, COUNT), asm.csrw(REGION, ONE))
    program.branch(asm.bne, ROUNDS, 0, "round")
    program.add(asm.csrw(REGION, 0), asm.tmc(0))
    return program.assemble()


def run(config, images, latency=LATENCY):
    """The cycles of each program's region."""
    results = run_many(config, [
        RunRequest(
            launch=RawProgram(image), policy="lrr", memory="fixed", latency=latency, check=True, max_cycles=400_000,
        )
        for image in images
    ])
    for result in results:
        assert not problems(result), problems(result)
    return [result.counters["cycles"] for result in results]


def load(register, offset):
    return asm.lw(register, offset, BASE_REG)


def store(register, offset):
    return asm.sw(LANE, offset, BASE_REG)


def rates(config, cases, rounds=2):
    """Warp-instructions a cycle of each case (base, strides, offsets, instruction).

    Without what the rounds themselves cost: three times the instructions take how many cycles more?
    """
    cycles = iter(run(config, [
        measured(config, base, strides, offsets * times, instruction, rounds)
        for base, strides, offsets, instruction in cases for times in (1, 3)
    ]))
    return [2 * len(offsets) * rounds * config.warps / (-next(cycles) + next(cycles)) for _, _, offsets, _ in cases]


NEAR = [512 * (number % 4) for number in range(64)]
#: What all warps do, the least and Vortex's warp-instructions a cycle (issue 5), where there are such.
CASES = {
    "loads that hit, a line each": ((USER, (4, 16), NEAR, load), 0.9, 0.18),
    "loads that hit, four lines each": (
        (USER, (64, 256), [4 * (number % 16) for number in range(64)], load), 0.9 / 4, 0.12,
    ),
    "stores, four warps to a line": ((USER, (4, 16), NEAR, store), 0.9, 0.49),
    # As many as the write buffer holds in the time that memory takes (docs/memory.md, "Limits").
    "stores, a line each": ((2 * USER, (4, 64), [0, -2048] * 32, store), CROWD.store_buffer / (LATENCY + 3), None),
    "local loads without a conflict": ((LOCAL, (4, 16), NEAR, load), 0.9, 0.26),
    "local stores without a conflict": ((LOCAL, (4, 16), NEAR, store), 0.9, None),
}


@on("crowd")
def test_throughput():
    """Between two barriers."""
    found = rates(CROWD, [case for case, _, _ in CASES.values()])
    print("\nwarp-instructions a cycle:")
    low = []
    for (name, (_, least, vortex)), rate in zip(CASES.items(), found, strict=True):
        print(f"{name:34} {rate:.3f}" + (f" ({vortex})" if vortex else ""))
        if least is not None and round(rate, 3) < round(least, 3):
            low.append(f"{name}: {rate:.3f} of {least}")
    assert not low


@pytest.mark.parametrize("config", [
    pytest.param(CROWD, marks=on("crowd"), id="4 lanes"),
    pytest.param(MID, marks=on("MID"), id="8 lanes"),
])
@pytest.mark.parametrize("instruction", [load, store])
def test_bank_conflicts_of_local_memory(config, instruction):
    """Lanes ``stride`` words apart: as many cycles as lanes are in one bank."""
    strides = [1 << bit for bit in range(config.threads.bit_length())]
    cases = [(LOCAL, (4 * stride, 4), [256 * (number % 4) for number in range(32)], instruction) for stride in strides]
    cycles = [1 / rate for rate in rates(config, cases)]
    print(f"\n{instruction.__name__}, {config.threads} lanes, cycles for a stride of")
    print(", ".join(f"{stride}: {took:.2f}" for stride, took in zip(strides, cycles, strict=True)))
    for stride, took in zip(strides, cycles, strict=True):
        assert stride <= took <= stride * 1.05, f"stride {stride}: {took} cycles"


def chain(word, steps, rounds):
    """One warp: ``steps`` times ``word``, each of which needs the one before, ``rounds`` times; x5 points to itself."""
    program = asm.Program()
    program.add(*asm.li(5, USER), *asm.li(ONE, 1))
    program.add(asm.sw(5, 0, 5), asm.fence(), asm.lw(5, 0, 5), asm.csrw(REGION, ONE), *asm.li(ROUNDS, rounds))
    program.label("round")
    program.add(*[word] * steps, asm.addi(ROUNDS, ROUNDS, -1))
    program.branch(asm.bne, ROUNDS, 0, "round")
    program.add(asm.csrw(REGION, 0), asm.tmc(0))
    return program.assemble()


@on("crowd")
def test_cycles_to_a_dependent_instruction():
    """From the selection of a load that hits, and of an addition, to that of the next one, which needs it."""
    # What a second round costs is without I-cache misses; what 32 steps more cost in it is without the loop.
    print("\ncycles from an instruction to its dependent:")
    for name, word, cycles, vortex in (("load", asm.lw(5, 0, 5), 7, 21), ("addition", asm.addi(5, 5, 0), 3, 9)):
        lengths = [(steps, rounds) for steps in (32, 64) for rounds in (1, 2)]
        took = dict(zip(lengths, run(CROWD, [chain(word, *length) for length in lengths]), strict=True))
        more = (took[64, 2] - took[64, 1]) - (took[32, 2] - took[32, 1])
        print(f"{name}: {more / 32:.2f} ({vortex})")
        assert more == 32 * cycles, f"{name}: {more / 32} cycles a step"
