"""Kernels and random programs on the RTL with every memory model, in lock step; injected errors; real DRAM commands."""

import itertools
import random
from fractions import Fraction

import pytest

from metronome.hdl.config import FaultCause
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.sim.machine.memory.dram_checker import TABLES, violations
from tests.support.builds import BASE, MID, TINY, on
from tests.support.tiers import long_but, some_more
from tests.system.rtl_programs import RawProgram, problems
from tests.system.scheme_builds import MATRIX_KERNELS, NAMES

#: The builds of test_kernels_rtl. Sizes are no multiple of the lanes; a matrix kernel takes the second.
PRESETS = {"TINY": (TINY, 11, 3), "BASE": (BASE, 37, 6), "MID": (MID, 133, 9)}

MEMORIES = {
    "dram": ("dram", 1, MemoryOptions()),
    "dram, slow clock, queue of 2": ("dram", 1, MemoryOptions(clock=Fraction(1, 2), queue_depth=2)),
    "dram, fast clock": ("dram", 1, MemoryOptions(timing="DDR4_3200AA", clock=Fraction(7, 3))),
    "tdm": ("tdm", 1, MemoryOptions()),
    "tdm, fast clock": ("tdm", 1, MemoryOptions(timing="DDR4_2400R_JEDEC", clock=Fraction(4))),
    "adversarial": ("random", 500, MemoryOptions(adversarial=True)),
    "adversarial, fast": ("random", 1, MemoryOptions(adversarial=True)),
}


def grouped(names):
    return [pytest.param(name, marks=[on(name), *([] if name == "TINY" else [pytest.mark.long])]) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("preset", grouped(PRESETS))
def test_kernels_in_lock_step(preset):
    """Every kernel with every model, on TINY with every second one; the policies in turn."""
    config, size, side = PRESETS[preset]
    combinations = list(itertools.product(NAMES, MEMORIES))[:: 2 if preset == "TINY" else 1]
    launches = [
        prepare(name, "int32", side if name in MATRIX_KERNELS else size, seed, config)
        for seed, (name, _) in enumerate(combinations)
    ]
    results = run_many(config, [
        RunRequest(
            launch=launch, policy=config.policies[seed % len(config.policies)], memory=MEMORIES[memory][0],
            latency=MEMORIES[memory][1], memory_options=MEMORIES[memory][2], seed=seed, check=True,
        )
        for seed, (launch, (_, memory)) in enumerate(zip(launches, combinations, strict=True))
    ])
    for result, launch, combination in zip(results, launches, combinations, strict=True):
        assert not problems(result), f"{combination}: {problems(result)}"
        assert not launch.check(result.memory), combination
        statistics = result.memory_statistics
        if MEMORIES[combination[1]][0] == "random":
            assert statistics is None
            continue
        assert statistics["reads"] > 0 and statistics["writes"] > 0, combination
        if MEMORIES[combination[1]][0] == "dram":
            found = [statistics[name] for name in ("row_hits", "row_closed", "row_conflicts")]
            assert sum(found) == statistics["reads"] + statistics["writes"], combination
            assert statistics["row_hits"] > 0, combination
        else:
            assert statistics["latency_max"] <= statistics["latency_bound"], combination


def check_random_programs(config, count, seed):
    requests = []
    for number in range(count):
        rng = random.Random(f"{seed}/{config.warps}x{config.threads}/{number}")
        program = RandomProgram(rng, config, blocks=rng.randrange(2, 14), floats=False).program
        memory, latency, options = MEMORIES[rng.choice(("adversarial", *MEMORIES))]
        requests.append(RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(config.policies), memory=memory,
            latency=latency, memory_options=options, seed=number, check=True, max_cycles=4_000_000,
        ))
    results = run_many(config, requests)
    bad = [f"program {number}: {text}" for number, result in enumerate(results) for text in problems(result)[:1]]
    assert len(results) == count
    assert not bad, f"seed {seed}\n" + "\n".join(bad[:5])


@on("TINY")
@pytest.mark.slow
def test_random_programs():
    check_random_programs(TINY, 20, 20261121)


@pytest.mark.long
@pytest.mark.parametrize("preset", grouped(PRESETS))
def test_more_random_programs(preset):
    check_random_programs(PRESETS[preset][0], 200, 20261122)


@on("TINY")
@pytest.mark.slow
@pytest.mark.parametrize("memory", ["dram", "tdm"])
@pytest.mark.parametrize("name", long_but(["vecadd", "psort", "sgemm"], ["vecadd"]))
def test_commands_of_a_kernel_keep_the_timing(name, memory):
    launch = prepare(name, "int32", 20 if name in MATRIX_KERNELS else 300, 1, TINY)
    (result,) = run_many(TINY, [
        RunRequest(launch=launch, policy="lrr", memory=memory, memory_options=MemoryOptions(commands=True)),
    ])
    assert result.status == "ended" and not launch.check(result.memory)
    commands, statistics = result.memory_commands, result.memory_statistics
    kinds = [command.kind for command in commands]
    assert sum(kind in ("RD", "RDA") for kind in kinds) == statistics["reads"]
    assert sum(kind in ("WR", "WRA") for kind in kinds) == statistics["writes"]
    assert len(commands) > 200
    assert violations(commands, TABLES["DDR4_2400R"])[:5] == []


@pytest.mark.slow
@on("TINY")
@pytest.mark.parametrize("seeds", some_more([range(2, 5), range(5, 12)], 1), ids=str)
def test_injected_errors_become_faults(seeds):
    """An access error that names an instruction of the program; without errors the same runs end well."""
    launch = prepare("psort", "int32", 60, 1, TINY)

    def runs(probability):
        options = MemoryOptions(adversarial=True, error_probability=probability)
        return run_many(TINY, [
            RunRequest(
                launch=launch, policy="lrr", memory="random", latency=50, seed=seed, memory_options=options,
                max_cycles=2_000_000,
            )
            for seed in seeds
        ])

    assert {result.status for result in runs(0.0)} == {"ended"}
    causes = set()
    for seed, result in zip(seeds, runs(0.1), strict=True):
        assert result.status == "fault", f"seed {seed}: {result.status}"
        causes.add(result.fault.cause)
        assert 0x8000_0000 <= result.fault.pc < 0x8010_0000, f"seed {seed}: {result.fault}"
    assert causes <= {FaultCause.FETCH_ACCESS, FaultCause.LOAD_ACCESS, FaultCause.STORE_ACCESS}
    assert len(causes) >= 2
