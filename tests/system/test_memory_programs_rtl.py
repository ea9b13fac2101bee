"""Random programs that are hard on memory, on the RTL in lock step: data caches of all kinds, every memory model."""

import random
from dataclasses import replace

import pytest

from hdl.presets import BASE, MID, TINY
from sim.memory.models import MemoryOptions
from sim.runner import RunRequest, run_many
from tests.system.memory_programs import MemoryProgram
from tests.system.rtl_programs import RawProgram, problems
from tests.system.test_random_simt_rtl import TIGHT

SEED = 20261123
#: One of everything.
LEAST = replace(TINY, dcache_bytes=128, dcache_ways=1, dcache_mshrs=1, store_buffer=1, lsu_tags=2)
#: Name of the build's group, configuration, programs.
COUNTS = {
    "TINY": (TINY, 60), "BASE": (BASE, 50), "MID": (MID, 30),
    "tight": (TIGHT, 60), "least": (LEAST, 60), "no data cache": (replace(TINY, dcache_bytes=0), 40),
}
ADVERSARIAL = MemoryOptions(adversarial=True)
#: Model, latency, options, how often.
MEMORIES = [
    ("fixed", 1, MemoryOptions(), 4), ("fixed", 20, MemoryOptions(), 3), ("random", 8, MemoryOptions(), 4),
    ("random", 60, MemoryOptions(), 3), ("dram", 1, MemoryOptions(), 2), ("tdm", 1, MemoryOptions(), 1),
    ("random", 3, ADVERSARIAL, 2), ("random", 500, ADVERSARIAL, 1),
]


def check(config, count, seed, memories):
    """``count`` programs, each with a policy and one of ``memories`` of its own."""
    requests = []
    for number in range(count):
        rng = random.Random(f"{seed}/{config.warps}x{config.threads}/{number}")
        program = MemoryProgram(rng, config, blocks=rng.randrange(3, 9)).program
        memory, latency, options, _ = rng.choices(memories, [often for *_, often in memories])[0]
        requests.append(RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(config.policies), memory=memory, latency=latency,
            memory_options=options, seed=number, check=True, max_cycles=2_000_000,
        ))
    results = run_many(config, requests)
    assert len(results) == count
    bad = [
        f"program {number} on {request.memory}, {request.latency}: {text}"
        for number, (request, result) in enumerate(zip(requests, results, strict=True))
        for text in problems(result)[:1]
    ]
    assert not bad, f"seed {seed}: {len(bad)} of {count}\n" + "\n".join(bad[:3])
    return results


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in COUNTS])
def test_random_memory_programs(name):
    config, count = COUNTS[name]
    check(config, count, SEED, MEMORIES)
