"""Machines with several schedulers: lock step and predictions, on random programs and kernels."""

import random
from dataclasses import replace

import pytest

from metronome.hdl import presets
from metronome.hdl.config import Channels, Coordination, Prediction, Turns, Units
from metronome.hdl.policies import POLICIES
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.system.jump_programs import JumpProgram
from tests.system.memory_programs import MemoryProgram
from tests.system.prediction import differences
from tests.system.rtl_programs import RawProgram, problems, run_cleared

SEED = 20261127
ALL = tuple(POLICIES)
TINY = replace(presets.TINY, warps=4, schedulers=2, policies=ALL)
MACHINES = {
    "two": TINY,
    "two, for chips": replace(
        TINY, **presets.PIPELINES["fpga"], prediction=Prediction.PRIVATE, icache_bytes=256, icache_ways=2,
        dcache_bytes=256, dcache_ways=2, dcache_mshrs=2, load_parts=4, store_buffer=3, channels=Channels.FREE,
        channel_depth=2,
    ),
    "four": replace(presets.BASE, schedulers=4, warps=8, policies=ALL),
    "four of one warp": replace(TINY, schedulers=4, policies=("lrr", "gtlo")),
    "without caches": replace(TINY, icache_bytes=0, dcache_bytes=0, policies=("lrr", "srr")),
    "baseline": replace(
        TINY, coordination=Coordination.BASELINE, policies=("lrr", "gtlo"), fetch_policies=("lrr", "gtlrr"),
    ),
    "vortex": replace(TINY, coordination=Coordination.VORTEX, policies=("lrr",), fetch_policies=("lrr",)),
    "two, older": replace(TINY, turns=Turns.OLDER),
    "two, shared": replace(TINY, units=Units.SHARED),
    "two, shared, older, for chips": replace(
        TINY, **presets.PIPELINES["fpga"], units=Units.SHARED, turns=Turns.OLDER,
    ),
    "four, shared, older": replace(
        presets.BASE, schedulers=4, warps=8, policies=ALL, units=Units.SHARED, turns=Turns.OLDER,
    ),
    "four, shared, one port": replace(
        TINY, schedulers=4, warps=8, units=Units.SHARED, alu_ports=1, writeback_ports=1, icache_bytes=256,
        icache_ways=2, dcache_bytes=256, dcache_ways=2,
    ),
    "four, shared, older, one port, for chips": replace(
        TINY, **presets.PIPELINES["fpga"], schedulers=4, warps=8, units=Units.SHARED, turns=Turns.OLDER, alu_ports=4,
        writeback_ports=1, channels=Channels.FREE,
    ),
    "baseline, shared, older": replace(
        TINY, coordination=Coordination.BASELINE, policies=("lrr", "gtlo"), fetch_policies=("lrr", "gtlrr"),
        units=Units.SHARED, turns=Turns.OLDER,
    ),
}
MEMORIES = [("fixed", 1), ("fixed", 20), ("random", 40)]


def requests(config, count):
    """Random programs of three kinds in turn, each with a policy and a memory of its own."""
    for number in range(count):
        rng = random.Random(f"{SEED}/{config.warps}x{config.threads}/{number}")
        kind = number % 3
        if kind == 0:
            program = RandomProgram(rng, config, blocks=rng.randrange(2, 14), floats=rng.random() < 0.7).program
        elif kind == 1:
            program = MemoryProgram(rng, config).program
        else:
            program = JumpProgram(rng, config).program
        memory, latency = rng.choice(MEMORIES)
        yield RunRequest(
            launch=RawProgram(program.assemble()), policy=rng.choice(config.policies), memory=memory, latency=latency,
            fetch_policy=rng.choice(config.fetch_policies) if config.fetch_policies else None, seed=number, check=True,
            max_cycles=400_000,
        )


#: Each machine takes half a minute of a core to build.
MORE = ("two, for chips", "four", "baseline", "two, shared, older, for chips", "four, shared, older")


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.more if name in MORE else pytest.mark.long) for name in MACHINES
])
def test_random_programs_and_kernels_agree_with_the_golden_model(name):
    config = MACHINES[name]
    asked = list(requests(config, 60))
    fetch = config.fetch_policies[0] if config.fetch_policies else None
    swas = config.coordination is Coordination.SWAS
    for number, kernel in enumerate(("psort", "diverge", "psum", "sgemm_group")):
        launch = prepare(kernel, "int32" if kernel != "sgemm_group" else "float32", 9, 1, config)
        asked.append(RunRequest(launch=launch, policy=config.policies[number % len(config.policies)], check=True,
                                fetch_policy=fetch, max_cycles=400_000, trace=swas))
    results = run_many(config, asked)
    bad = [f"program {number}: {text}" for number, result in enumerate(results) for text in problems(result)[:1]]
    assert len(results) == len(asked)
    assert not bad, f"seed {SEED}\n" + "\n".join(bad[:5])
    assert all(each.launch.check(result.memory) == [] for each, result in zip(asked[60:], results[60:], strict=True))
    for result in results[60:]:
        counters = result.counters
        issued = counters["committed"] + counters["nops"] + sum(counters["stalls"].values())
        assert issued == config.schedulers * counters["cycles"]
        if swas:
            assert counters["errors"] == counters["discrepancies"] == 0
    if swas:
        # Random programs run again, with registers that are 0.
        again, bad = [replace(each, check=False, trace=True) for each in asked[:12]], []
        run_cleared(config, again, lambda at, result: bad.extend(
            f"program {at}: {line}" for line in differences(config, again[at], result)[:1]))
        bad += [
            f"kernel {request.launch.name}: {line}" for request, result in zip(asked[60:], results[60:], strict=True)
            for line in differences(config, request, result)[:1]
        ]
        assert not bad, f"seed {SEED}\n" + "\n".join(bad[:5])
