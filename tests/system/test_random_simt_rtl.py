"""Random SIMT programs on the RTL, every commit compared with the golden model (lock step)."""

import random
from dataclasses import replace

import pytest

from metronome.sim.run.runner import RunRequest, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import BARE, BASE, MID, PAPER, TINY, on
from tests.system.rtl_programs import RawProgram, problems

SEED = 20261121
MEMORIES = [("fixed", 1), ("fixed", 20), ("random", 40)]


def requests_for(config, count, seed):
    """``count`` random programs, each with a policy and a memory model of its own."""
    for number in range(count):
        rng = random.Random(f"{seed}/{config.warps}x{config.threads}/{number}")
        program = RandomProgram(rng, config, blocks=rng.randrange(2, 14), floats=rng.random() < 0.7).program
        memory, latency = rng.choice(MEMORIES)
        yield RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(config.policies), memory=memory,
            latency=latency, seed=number, check=True, max_cycles=400_000,
        )


#: Hardly any cache, MSHRs and write buffer: everything has to wait for everything.
TIGHT = replace(BASE, dcache_bytes=256, dcache_ways=2, dcache_mshrs=2, store_buffer=2, load_parts=2)
#: On a machine with four warps `make test` has those of test_prediction_rtl.
COUNTS = {"TINY": (TINY, 40), "BASE": (BASE, 80), "MID": (MID, 50), "bare": (BARE, 80)}
LONG_COUNTS = {"TINY": (TINY, 500), "BASE": (BASE, 500), "MID": (MID, 200), "PAPER": (PAPER, 40), "tight": (TIGHT, 80)}


def grouped(counts):
    return [pytest.param(*values, id=name, marks=[on(name), *[pytest.mark.more] * (name != "TINY")])
            for name, values in counts.items()]


def check_random_programs(config, count, seed):
    results = run_many(config, list(requests_for(config, count, seed)))
    bad = [f"program {number}: {text}" for number, result in enumerate(results) for text in problems(result)[:1]]
    assert len(results) == count
    assert not bad, f"seed {seed}\n" + "\n".join(bad[:5])


@pytest.mark.parametrize(("config", "count"), grouped(COUNTS))
def test_random_programs_agree_with_the_golden_model(config, count):
    check_random_programs(config, count, SEED)


@pytest.mark.long
@pytest.mark.parametrize(("config", "count"), grouped(LONG_COUNTS))
def test_more_random_programs(config, count):
    check_random_programs(config, count, SEED + 1)
