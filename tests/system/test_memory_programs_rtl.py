"""Random programs that are hard on memory, on the RTL in lock step: data caches of all kinds, every memory model."""

import random

import pytest

from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import BARE, BASE, LEAST, MID, PAPER, TINY, on
from tests.system.memory_programs import MemoryProgram
from tests.system.rtl_programs import RawProgram, problems
from tests.system.scheme_builds import MATRIX_KERNELS
from tests.system.test_random_simt_rtl import TIGHT

SEED = 20261123
#: Name of the build's group, configuration, programs.
COUNTS = {
    "TINY": (TINY, 30), "BASE": (BASE, 50), "MID": (MID, 30), "least": (LEAST, 60), "bare": (BARE, 40),
    "tight": (TIGHT, 60),
}
ADVERSARIAL = MemoryOptions(adversarial=True)
#: Model, latency, options, how often.
MEMORIES = [
    ("fixed", 1, MemoryOptions(), 4), ("fixed", 20, MemoryOptions(), 3), ("random", 8, MemoryOptions(), 4),
    ("random", 60, MemoryOptions(), 3), ("dram", 1, MemoryOptions(), 2), ("tdm", 1, MemoryOptions(), 1),
    ("random", 3, ADVERSARIAL, 2), ("random", 500, ADVERSARIAL, 1),
]
SLOW = [("random", 500, ADVERSARIAL, 3), ("random", 3, ADVERSARIAL, 1)]


def asked(config, count, seed, memories, kinds=(MemoryProgram,), **fields):
    """Requests of ``count`` programs, of the kinds in turn, each with a policy and one of ``memories`` of its own."""
    requests = []
    for number in range(count):
        rng = random.Random(f"{seed}/{config.warps}x{config.threads}/{number}")
        program = kinds[number % len(kinds)](rng, config, blocks=rng.randrange(3, 9)).program
        memory, latency, options, _ = rng.choices(memories, [often for *_, often in memories])[0]
        requests.append(RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(config.policies), memory=memory, latency=latency,
            memory_options=options, seed=number, check=True, max_cycles=2_000_000, **fields,
        ))
    return requests


def check(config, count, seed, memories, kinds=(MemoryProgram,)):
    """Such programs, in lock step."""
    requests = asked(config, count, seed, memories, kinds)
    results = run_many(config, requests)
    assert len(results) == count
    bad = [
        f"program {number} on {request.memory}, {request.latency}: {text}"
        for number, (request, result) in enumerate(zip(requests, results, strict=True))
        for text in problems(result)[:1]
    ]
    assert not bad, f"seed {seed}: {len(bad)} of {count}\n" + "\n".join(bad[:3])


def grouped(names):
    return [pytest.param(name, marks=on(name)) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[on(name), *([] if name == "TINY" else
                                          [pytest.mark.long if name == "tight" else pytest.mark.more])])
    for name in COUNTS
])
def test_random_memory_programs(name):
    config, count = COUNTS[name]
    check(config, count, SEED, MEMORIES)


@pytest.mark.long
@pytest.mark.parametrize("name", grouped(COUNTS))
def test_more_random_memory_programs(name):
    check(COUNTS[name][0], 300, SEED + 1, MEMORIES)


@pytest.mark.long
@pytest.mark.parametrize("name", grouped([*COUNTS, "PAPER"]))
def test_random_programs_on_adversarial_memory(name):
    config = PAPER if name == "PAPER" else COUNTS[name][0]
    check(config, 20 if name == "PAPER" else 100, SEED + 2, SLOW, (MemoryProgram, RandomProgram))


@pytest.mark.long
@pytest.mark.parametrize("name", grouped([*COUNTS, "PAPER"]))
def test_kernels_on_adversarial_memory(name):
    """All of them, in both types; the policies in turn."""
    config, size, side = (PAPER, 1024, 32) if name == "PAPER" else (COUNTS[name][0], 37, 6)
    programs = [(kernel.name, dtype) for kernel in kernels() for dtype in kernel.types]
    launches = [
        prepare(name, dtype, side if name in MATRIX_KERNELS else size, seed, config)
        for seed, (name, dtype) in enumerate(programs)
    ]
    results = run_many(config, [
        RunRequest(
            launch=launch, policy=config.policies[seed % len(config.policies)], memory="random", latency=500,
            memory_options=ADVERSARIAL, seed=seed, check=True,
        )
        for seed, launch in enumerate(launches)
    ])
    for program, launch, result in zip(programs, launches, results, strict=True):
        assert not problems(result), f"{program}: {problems(result)}"
        assert not launch.check(result.memory), program
