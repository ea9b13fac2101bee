"""The SM without an I-cache, with and without a data cache, on the RTL in lock step."""

import itertools
import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Coordination, Prediction, SmConfig
from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import Program
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import on
from tests.system.oracles import oracle_differences
from tests.system.rtl_programs import ARGUMENTS, RawProgram, problems
from tests.system.scheme_builds import MATRIX_KERNELS, MEMORIES, NAMES, SCHEMES, SIZES, TYPES

SEED = 20261123
PROGRAMS = 20
#: Of the program that patches itself.
ROUNDS = 8
#: Nothing is cached, and one scheduler serves fetch and issue: tests.support.builds.UNCACHED.
QUICK = ("TINY", Coordination.SWAS, 0)


def config_of(preset: str, scheme: Coordination, dcache_bytes: int) -> SmConfig:
    policies, fetch_policies = SCHEMES[scheme]
    return replace(SIZES[preset][0], coordination=scheme, policies=policies, fetch_policies=fetch_policies,
                   prediction=Prediction.NOT_TAKEN, icache_bytes=0, dcache_bytes=dcache_bytes)


def builds():
    """One parameter a build; all but one are long."""
    for preset, scheme, dcache_bytes in itertools.product(SIZES, Coordination, (0, 16 * 1024)):
        quick = (preset, scheme, dcache_bytes) == QUICK
        name = "uncached" if quick else f"{preset} {scheme} without I-cache, {dcache_bytes}"
        yield pytest.param(preset, scheme, dcache_bytes, marks=[on(name), *([] if quick else [pytest.mark.long])])


def patched() -> RawProgram:
    """Overwrites an instruction in the very line that it runs in, again and again, with fence.i before it."""
    p = Program()
    p.la(5, "here")
    p.la(6, "words")
    p.add(*asm.li(28, ROUNDS), *asm.li(8, 0))
    p.label("again")
    p.add(asm.lw(7, 0, 6), asm.sw(7, 0, 5), asm.fence_i())
    p.label("here")
    p.add(asm.addi(8, 8, 1), asm.addi(6, 6, 4), asm.addi(28, 28, -1))
    p.branch(asm.bne, 28, 0, "again")
    p.add(*asm.li(5, ARGUMENTS), asm.sw(8, 0, 5), asm.tmc(0))
    p.label("words")
    p.add(*[asm.addi(8, 8, 1 << n) for n in range(ROUNDS)])
    return RawProgram(p.assemble())


@pytest.mark.parametrize(("preset", "scheme", "dcache_bytes"), list(builds()))
def test_kernels_and_random_programs(preset, scheme, dcache_bytes):
    config = config_of(preset, scheme, dcache_bytes)
    _, size, side, _ = SIZES[preset]
    pairs = list(itertools.product(config.fetch_policies or (None,), config.policies))
    jobs = []
    # The quick build runs in `make test`, which has little time: half the memories for each kernel.
    quick = (preset, scheme, dcache_bytes) == QUICK
    runs = [
        (name, *memory) for (place, name), (turn, memory) in itertools.product(enumerate(NAMES), enumerate(MEMORIES))
        if not quick or (place + turn) % 2 == 0
    ]
    for number, (name, memory, latency, seed) in enumerate(runs):
        # The next kernel begins with the other type.
        dtype = TYPES[(number + number // len(MEMORIES)) % 2]
        launch = prepare(name, dtype, side if name in MATRIX_KERNELS else size, seed, config)
        fetch, issue = pairs[number % len(pairs)]
        jobs.append((launch, RunRequest(launch=launch, policy=issue, fetch_policy=fetch, memory=memory,
                                        latency=latency, seed=seed, check=True, trace=name == "psum",
                                        max_cycles=4_000_000)))
    programs = [RandomProgram(random.Random(f"{SEED}/{n}"), config).program.assemble() for n in range(PROGRAMS)]
    for number, launch in enumerate([patched(), *map(RawProgram, programs)]):
        fetch, issue = pairs[number % len(pairs)]
        jobs.append((None, RunRequest(launch=launch, policy=issue, fetch_policy=fetch, memory="random", latency=40,
                                      seed=number, check=True, trace=number == 0, max_cycles=800_000)))
    results = run_many(config, [request for _, request in jobs])
    for number, ((launch, request), result) in enumerate(zip(jobs, results, strict=True)):
        what = f"seed {SEED}, job {number}: {request.fetch_policy}-{request.policy}, {request.memory}"
        assert not problems(result), f"{what}: {problems(result)}"
        if request.trace:
            assert not oracle_differences(config, request.policy, result), what
        if launch is not None:
            assert not launch.check(result.memory), what
            counted = result.counters
            assert counted["cycles"] == counted["committed"] + counted["nops"] + sum(counted["stalls"].values()), what
            assert counted["icache_misses"] > 0, what
        if number == len(results) - PROGRAMS - 1:
            # The sum of all the increments that were written over each other.
            assert int.from_bytes(result.memory.read(ARGUMENTS, 4), "little") == (1 << ROUNDS) - 1, what
