"""Programs that use their stacks, interleaved and not, on the RTL in lock step: nothing of it shows in software."""

import random
import struct
from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from metronome.sim.run.runner import RunRequest, run_many
from tests.riscv_kernels.iss_runs import PROGRAMS
from tests.support.builds import BARE, BASE, TINY, on
from tests.system.measure_stacks import measure
from tests.system.rtl_programs import RawProgram, problems

pytestmark = pytest.mark.slow
SEED = 20261121
TOP, STACK = 0xFFFF_0000, 8192
RESULTS = 0x0002_0000
MEMORIES = [("fixed", 20), ("random", 60)]
OFF = replace(BASE, interleave_stacks=False)


def grouped():
    """The builds of test_random_simt_rtl, and one more."""
    for name, config in {"TINY": TINY, "BASE": BASE, "bare": BARE, "off": OFF}.items():
        kind = {"TINY": [], "bare": [pytest.mark.more]}.get(name, [pytest.mark.long])
        marks = [on(name), *kind]
        yield pytest.param(config, id=name, marks=marks)


def results_of(threads: int) -> list[int]:
    """What every thread of stacks.c leaves: its two words."""
    cells, found = 16, []
    for i in range(threads):
        data = [(i + k) % 256 for k in range(cells)]
        before = (i - 1) % threads
        data[before * 5 % cells] = (200 + before) % 256
        total = sum(data[k] * (k + 1) for k in range(cells))
        total += sum((i * 256 + k) % 65536 for k in range(cells)) + sum(i << 16 | k for k in range(cells))
        found += [total % (1 << 32), fold(4, i) % (1 << 32)]
    return found


def fold(depth: int, value: int) -> int:
    if depth == 0:
        return value * 3 + (value >> 3) % 65536
    return fold(depth - 1, value + depth) + value * 3 + value % 65536 * 7


@pytest.mark.parametrize("config", list(grouped()))
def test_a_program_with_stacks(config):
    """Arrays, calls, other threads' stacks, copies over borders; results, lock step, and the stacks themselves."""
    threads = config.harts
    low = TOP - STACK * config.harts
    # Below the stacks, between two lanes', between two warps', and in the middle of one.
    borders = low, TOP - STACK, TOP - STACK * config.threads, TOP - STACK - STACK // 2
    launch = Launch(
        name="stacks", image=load_elf(build_elf([PROGRAMS / "stacks.c"], name="stacks"), config.memory_map),
        memory_map=config.memory_map, arguments=struct.pack("<6I", RESULTS, threads, *borders),
        # The host writes into a stack too, and finds it again.
        buffers={"stack": (low + 4096, bytes(range(256)))},
    )
    results = run_many(config, [
        RunRequest(launch=launch, policy="lrr", memory=memory, latency=latency, seed=SEED, check=True)
        for memory, latency in MEMORIES
    ])
    for result in results:
        assert not problems(result), problems(result)
        assert result.exit_code == 0
        words = np.frombuffer(result.memory.read(RESULTS, 8 * threads), np.uint32).tolist()
        assert words == results_of(threads)
        pattern = bytes((k * 7 + 1) % 256 for k in range(200))
        assert result.memory.read(low - 100, 200) == pattern
        assert result.memory.read(TOP - STACK - STACK // 2 - 100, 200) == pattern
        assert result.memory.read(low + 4096, 256) == bytes(range(256))


ADDRESS, VALUE, RANDOM, FACTOR, BASE_REG, ONE, COUNT = 5, 6, 7, 8, 9, 28, 29
LOADED = range(10, 18)


def random_program(rng: random.Random, config, length: int) -> bytes:
    """Every lane of every warp at random addresses of bytes, half-words and words, around borders of stacks."""
    p = asm.Program()
    p.li(COUNT, config.warps)
    p.la(ONE, "body")
    p.add(asm.wspawn(COUNT, ONE))
    p.label("body")
    p.add(*asm.li(ONE, (1 << config.threads) - 1), asm.tmc(ONE), asm.csrr(VALUE, 0xF14))
    p.add(*asm.li(FACTOR, rng.getrandbits(32) | 5), *asm.li(RANDOM, rng.getrandbits(32)))
    p.add(asm.add(RANDOM, RANDOM, VALUE), asm.mul(RANDOM, RANDOM, FACTOR))
    low = TOP - STACK * config.harts
    borders = [low, TOP, TOP - STACK, TOP - STACK * config.threads, TOP - rng.randrange(STACK * config.harts)]
    for number in range(length):
        size = rng.choice((1, 2, 4))
        if number % 8 == 0:
            own = rng.random() < 0.4
            span = rng.choice((16, 64, 256))
            p.li(BASE_REG, (TOP - STACK if own else rng.choice(borders)) // 4 * 4 - span // 2)
            if own:
                # The hart's own stack: one offset for all.
                p.add(asm.csrr(VALUE, 0xF14), asm.slli(VALUE, VALUE, 13), asm.sub(BASE_REG, BASE_REG, VALUE))
        p.add(asm.mul(RANDOM, RANDOM, FACTOR), asm.addi(RANDOM, RANDOM, 1345), asm.srli(ADDRESS, RANDOM, 17))
        p.add(asm.andi(ADDRESS, ADDRESS, span - size), asm.add(ADDRESS, ADDRESS, BASE_REG))
        if rng.random() < 0.5:
            store = {1: asm.sb, 2: asm.sh, 4: asm.sw}[size]
            p.add(store(RANDOM, 0, ADDRESS))
        else:
            load = rng.choice({1: (asm.lb, asm.lbu), 2: (asm.lh, asm.lhu), 4: (asm.lw,)}[size])
            p.add(load(rng.choice(LOADED), 0, ADDRESS))
    p.add(asm.tmc(0))
    return p.assemble()


@pytest.mark.parametrize("config", list(grouped()))
def test_random_accesses(config):
    requests = []
    for number in range(20):
        rng = random.Random(f"{SEED}/{number}")
        memory, latency = rng.choice(MEMORIES)
        requests.append(RunRequest(
            launch=RawProgram(random_program(rng, config, 80)), policy=rng.choice(config.policies), memory=memory,
            latency=latency, seed=number, check=True, max_cycles=400_000,
        ))
    results = run_many(config, requests)
    bad = [f"program {number}: {text}" for number, result in enumerate(results) for text in problems(result)[:1]]
    assert len(results) == len(requests)
    assert not bad, f"seed {SEED}\n" + "\n".join(bad[:5])


def jump_to(target: int) -> bytes:
    """Write `tmc x0` at ``target`` and go there."""
    p = asm.Program()
    p.add(*asm.li(5, target), *asm.li(6, asm.tmc(0)))
    p.add(asm.sw(6, 0, 5), asm.fence(), asm.fence_i(), asm.jalr(0, 5, 0))
    return p.assemble()


@pytest.mark.parametrize("config", list(grouped()))
def test_code_in_the_stacks(config):
    """An instruction access fault, in the golden model too; below the stacks, and without interleaving, it runs."""
    low = TOP - STACK * config.harts
    targets = [low - 4, low, TOP - 4]
    results = run_many(config, [
        RunRequest(launch=RawProgram(jump_to(target)), policy="lrr", check=True) for target in targets
    ])
    for target, result in zip(targets, results, strict=True):
        assert not result.mismatches and result.checked
        if config.interleave_stacks and target >= low:
            assert result.status == "fault"
            fault = result.fault
            assert (fault.cause, fault.pc, fault.address) == (FaultCause.FETCH_ACCESS, target, target)
        else:
            assert result.status == "ended", result.fault


@pytest.mark.parametrize("config", list(grouped()))
def test_faults_name_the_programs_address(config):
    """Misaligned accesses of all lanes; the other faults of the stacks are tested in test_lsu_stacks."""
    for op, cause in ((asm.lw, FaultCause.LOAD_MISALIGNED), (asm.sh, FaultCause.STORE_MISALIGNED)):
        p = asm.Program()
        p.add(*asm.li(5, TOP - STACK - 95), op(6, 0, 5))
        (result,) = run_many(config, [RunRequest(launch=RawProgram(p.assemble()), policy="lrr", check=True)])
        assert not result.mismatches and result.checked
        assert (result.fault.cause, result.fault.address) == (cause, TOP - STACK - 95)


@pytest.mark.long
@on("PAPER")
def test_what_interleaving_is_worth():
    """vecadd of 1024 elements on PAPER whose threads live on their stacks: at least 5 times fewer cycles.

    Of the lighter program in its region alone: a sixth of its run is main on one lane, with or without interleaving.
    """
    full, lighter = measure(("registers saved, array and indices", "array and indices"), ("fixed",))
    for found in (full, lighter):
        print(f"{found.program}, {found.memory}: region {found.interleaved[0]} of {found.plain[0]} cycles, "
              f"run {found.interleaved[1]} of {found.plain[1]}")
    assert min(full.ratios) >= 5, f"{full}: {full.ratios}"
    assert lighter.ratios[0] >= 5, f"{lighter}: {lighter.ratios}"
