"""ccws with caches that thrash, on whole programs: lock step, the oracles, and the prediction of every cycle."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Channels, Coordination
from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run, run_many
from tests.support.builds import BASE, MID, TINY
from tests.system.oracles import oracle_differences
from tests.system.prediction import differences
from tests.system.rtl_programs import problems
from tests.system.scheme_builds import MATRIX_KERNELS
from tests.system.test_memory_programs_rtl import MEMORIES as PROGRAM_MEMORIES
from tests.system.test_memory_programs_rtl import asked

SEED = 20261125
MEMORIES = ("fixed", "dram", "random", "tdm")
POLICIES = ("ccws", "lrr")
#: Caches of a few lines; few and many tags, scores that fall at once and that stay.
SMALL = {
    "tiny": replace(TINY, policies=POLICIES, dcache_bytes=256, dcache_ways=2, victim_tags=4,
                    locality_throttle=64),
    "base": replace(BASE, policies=POLICIES, dcache_bytes=512, dcache_ways=4, locality_throttle=32),
    "one tag": replace(TINY, warps=4, policies=POLICIES, dcache_bytes=128, dcache_ways=1, dcache_mshrs=1,
                       victim_tags=1, locality_base=3, locality_throttle=64),
    "channels": replace(BASE, policies=POLICIES, dcache_bytes=512, dcache_ways=2, channels=Channels.FREE,
                        channel_depth=3, locality_base=20, victim_tags=5,
                        locality_throttle=64),
    "eight": replace(MID, threads=4, policies=POLICIES, dcache_bytes=512, dcache_ways=2, locality_base=30),
}


def builds():
    """A build of half a minute each: `make test` has the policy on BASE (test_policy_parameters_rtl), and alone."""
    return [pytest.param(name, marks=pytest.mark.long) for name in SMALL]


def held_back(result):
    """The cycles in which nobody was selected although somebody was eligible."""
    front = result.events["front"]
    return int(((front["eligible"] != 0) & (front["select_valid"] == 0)).sum())


def check(config, requests, *, programs=False):
    """Each of them, which are kernels or ``programs``; returns how many losses, and cycles with all held back."""
    bad, seen = [], {"lost": 0, "held": 0}

    def take(at, result):
        request = requests[at]
        seen["lost"] += int((result.events["front"]["lost"] != 0).sum())
        seen["held"] += held_back(result)
        told = [] if result.status == "ended" else [f"{result.status}: {result.mismatches[:1]}"]
        told += problems(result)[:1] if programs else request.launch.check(result.memory) or []
        told += [f"{each}: {result.counters[each]}" for each in ("discrepancies", "errors") if result.counters[each]]
        told += differences(config, request, result)[:1]
        told += oracle_differences(config, request.policy, result) if at % 8 == 0 and not told else []
        bad.extend(f"{at}, {request.memory}: {line}" for line in told)
        result.events = None

    if programs:
        # Each in a process of its own: some read registers that nobody has written.
        for at, request in enumerate(requests):
            take(at, run(config, request))
    else:
        run_many(config, requests, on_result=take)
    assert not bad, f"{len(bad)} of {len(requests)}\n" + "\n".join(bad[:5])
    return seen


@pytest.mark.parametrize("name", builds())
def test_kernels(name):
    config = SMALL[name]
    requests = [
        RunRequest(
            launch=prepare(kernel.name, dtype, 6 if kernel.name in MATRIX_KERNELS else 37, 1, config), policy="ccws",
            check=True, trace=True, memory=MEMORIES[place % len(MEMORIES)],
        )
        for place, (kernel, dtype) in enumerate((kernel, dtype) for kernel in kernels() for dtype in kernel.types)
    ]
    seen = check(config, requests)
    assert seen["lost"] > 100 and seen["held"] > 100, seen


@pytest.mark.parametrize("name", builds())
def test_random_memory_programs(name):
    config = SMALL[name]
    requests = [replace(request, policy=POLICIES[number % 4 == 3])
                for number, request in enumerate(asked(config, 60, SEED, PROGRAM_MEMORIES, trace=True))]
    seen = check(config, requests, programs=True)
    assert seen["lost"] > 20 and seen["held"] > 20, f"seed {SEED}: {seen}"


@pytest.mark.long  # builds of their own
@pytest.mark.parametrize("coordination", [Coordination.BASELINE, Coordination.VORTEX])
def test_two_schedulers(coordination):
    """Each has scores of its own; the prediction does not know these front ends."""
    config = replace(SMALL["base"], coordination=coordination, fetch_policies=("ccws", "lrr"))
    requests = [
        RunRequest(launch=prepare(name, None, 37, 1, config), policy="ccws", fetch_policy=fetch, check=True, trace=True)
        for name in ("vecadd", "psum", "diverge", "row_sums") for fetch in config.fetch_policies
    ]
    for request, result in zip(requests, run_many(config, requests), strict=True):
        assert result.status == "ended" and not request.launch.check(result.memory)
        assert oracle_differences(config, "ccws", result) == []


def test_it_makes_up_for_a_small_cache():
    """docs/policies.md, "Lost locality": twice the hits' share and more, and fewer cycles than round robin."""
    config = replace(MID, policies=POLICIES, dcache_bytes=2048)
    launch = prepare("row_sums", "int32", 128, 1, config)
    found = {policy: predict(config, RunRequest(launch=launch, policy=policy, memory="dram")).result
             for policy in POLICIES}
    hits = {policy: result.region.loads.hits / result.region.loads.accesses for policy, result in found.items()}
    assert hits["ccws"] > 0.7 and hits["lrr"] < 0.2, hits
    assert found["ccws"].counters["cycles"] < 0.75 * found["lrr"].counters["cycles"]


def test_nobody_waits_for_ever():
    """Barriers, random programs and a cache of two lines under the strongest throttle: each program ends."""
    config = replace(BASE, policies=POLICIES, dcache_bytes=128, dcache_ways=1, locality_base=1000, locality_throttle=64)
    rng = random.Random(SEED)
    for name in ("psum", "hotspot", "sgemm_group"):
        launch = prepare(name, None, 6, rng.randrange(9), config)
        result = predict(config, RunRequest(launch=launch, policy="ccws", memory="dram")).result
        assert result.status == "ended" and not launch.check(result.memory), f"seed {SEED}, {name}"
