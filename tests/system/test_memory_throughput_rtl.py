"""What the memory system lets through, as programs see it: warp-instructions a cycle, and one warp's latencies."""

from dataclasses import replace

import pytest

from hdl.presets import BASE
from sim import asm
from sim.runner import RunRequest, run_many
from tests.system.rtl_programs import RawProgram, problems

CONFIG = replace(BASE, warps=32, threads=4, policies=("lrr",))
USER, LOCAL = 0x0001_0000, 0xFFFF_0000
THREAD_ID, WARP_ID, REGION = 0xCC0, 0xCC1, 0x7C0
#: Registers: addresses, all-ones, number of warps, 1, and what is free for results.
BASE_REG, ONES, COUNT, ONE, LANE, WARP, ROUNDS = 5, 6, 7, 8, 9, 10, 11
RESULTS = range(12, 28)



def measured(base, lane_bytes, warp_bytes, offsets, instruction, rounds):
    """Every warp executes ``instruction(register, offset)`` for all ``offsets``, ``rounds`` times and once before."""
    program = asm.Program()
    program.li(COUNT, CONFIG.warps)
    program.la(28, "body")
    program.add(asm.wspawn(COUNT, 28))
    program.label("body")
    program.li(ONES, -1 & 0xFFFF_FFFF)
    program.add(asm.tmc(ONES))
    program.li(COUNT, CONFIG.warps)
    program.li(ONE, 1)
    program.add(asm.csrr(LANE, THREAD_ID), asm.csrr(WARP, WARP_ID))
    program.add(asm.slli(LANE, LANE, lane_bytes.bit_length() - 1), asm.slli(WARP, WARP, warp_bytes.bit_length() - 1))
    program.li(BASE_REG, base)
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


def run(config, image, latency=20):
    (result,) = run_many(config, [RunRequest(
        launch=RawProgram(image), policy="lrr", memory="fixed", latency=latency, check=True, max_cycles=400_000,
    )])
    assert not problems(result), problems(result)
    return result.counters


def load(register, offset):
    return asm.lw(register, offset, BASE_REG)


def store(register, offset):
    return asm.sw(LANE, offset, BASE_REG)


NEAR = [512 * (number % 4) for number in range(64)]
CASES = {
    "coalesced load hits": ((USER, 4, 16, NEAR, load, 2), 1, 0.9),
    "loads of four lines": ((USER, 64, 256, [4 * (number % 16) for number in range(64)], load, 2), 4, 0.9),
    "stores": ((USER, 4, 16, NEAR, store, 2), 1, 0.9),
    "local loads": ((LOCAL, 4, 16, NEAR, load, 2), 1, 0.9),
}


@pytest.mark.xdist_group("memory throughput")
@pytest.mark.parametrize("name", CASES)
def test_throughput(name):
    """Accesses a cycle between two barriers, without what the rounds themselves cost."""
    case, lines, wanted = CASES[name]
    few, many = (run(CONFIG, measured(*case[:3], case[3] * times, *case[4:])) for times in (1, 3))
    accesses = 2 * len(case[3]) * case[5] * CONFIG.warps
    rate = accesses * lines / (many["cycles"] - few["cycles"])
    print(f"{name}: {rate:.3f} lines a cycle")
    assert rate >= wanted, f"{name}: {rate:.3f} of {wanted}"


def chain(word, steps, rounds):
    """One warp: ``steps`` times ``word``, each of which needs the one before, ``rounds`` times; x5 points to itself."""
    program = asm.Program()
    program.li(5, USER)
    program.li(ONE, 1)
    program.add(asm.sw(5, 0, 5), asm.fence(), asm.lw(5, 0, 5), asm.csrw(REGION, ONE))
    program.li(ROUNDS, rounds)
    program.label("round")
    program.add(*[word] * steps)
    program.add(asm.addi(ROUNDS, ROUNDS, -1))
    program.branch(asm.bne, ROUNDS, 0, "round")
    program.add(asm.csrw(REGION, 0), asm.tmc(0))
    return program.assemble()


@pytest.mark.xdist_group("memory throughput")
@pytest.mark.parametrize(("word", "cycles"), [(asm.lw(5, 0, 5), 7), (asm.addi(5, 5, 0), 3)])
def test_cycles_to_a_dependent_instruction(word, cycles):
    """From the selection of a load that hits, and of an addition, to that of the next one, which needs it."""
    # What a second round costs is without I-cache misses; what 32 steps more cost in it is without the loop.
    took = {
        (steps, rounds): run(CONFIG, chain(word, steps, rounds))["cycles"] for steps in (32, 64) for rounds in (1, 2)
    }
    more = (took[64, 2] - took[64, 1]) - (took[32, 2] - took[32, 1])
    assert more == 32 * cycles, f"{more / 32} cycles a step"
