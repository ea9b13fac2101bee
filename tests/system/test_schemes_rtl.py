"""The other two front ends on the RTL in lock step: every kernel, every pair of fetch and issue policy."""

import itertools
import random
from dataclasses import replace

import pytest

from hdl.config import Coordination
from hdl.policies import POLICIES
from hdl.presets import BASE, TINY
from sim.kernel import kernels, prepare
from sim.runner import RunRequest, run_many
from tests.sim.iss.iss_programs import RandomProgram
from tests.system.rtl_programs import RawProgram, problems

#: Scheme and its fetch policies: the paper's nine pairs, and Vortex's own fixed priority (policies.md).
SCHEMES = {
    "baseline": (Coordination.BASELINE, ("lrr", "gtlrr", "gtlo")),
    "vortex": (Coordination.VORTEX, ("fixed",)),
}
SIZES = {"TINY": (TINY, 11, 3), "BASE": (BASE, 37, 6)}
MEMORIES = [("fixed", 20, 1), ("random", 60, 2)]
NAMES = [kernel.name for kernel in kernels() if "int32" in kernel.types]
SEED = 20261122


def grouped(preset, scheme):
    return pytest.param(preset, scheme, marks=pytest.mark.xdist_group(f"{preset} {scheme}"))


@pytest.mark.parametrize(("preset", "scheme"), [grouped("TINY", "baseline"), grouped("BASE", "vortex")])
def test_kernels_and_random_programs(preset, scheme):
    base, size, side = SIZES[preset]
    coordination, fetch_policies = SCHEMES[scheme]
    config = replace(base, coordination=coordination, fetch_policies=fetch_policies)
    pairs = list(itertools.product(config.fetch_policies, config.policies))
    jobs = []
    for name, (fetch, issue), (memory, latency, seed) in itertools.product(NAMES, pairs, MEMORIES):
        launch = prepare(name, "int32", side if name in ("sgemm", "transpose") else size, seed, config)
        jobs.append((launch, RunRequest(
            launch=launch, policy=issue, fetch_policy=fetch, memory=memory, latency=latency, seed=seed, check=True,
        )))
    for number in range(30):
        rng = random.Random(f"{SEED}/{number}")
        program = RawProgram(RandomProgram(rng, config, floats=False).program.assemble())
        fetch, issue = rng.choice(pairs)
        jobs.append((None, RunRequest(
            launch=program, policy=issue, fetch_policy=fetch, memory="random", latency=40, seed=number, check=True,
        )))
    results = run_many(config, [request for _, request in jobs])
    for number, ((launch, request), result) in enumerate(zip(jobs, results, strict=True)):
        what = f"seed {SEED}, job {number}: {request.fetch_policy}-{request.policy}, {request.memory}"
        assert not problems(result), f"{what}: {problems(result)}"
        assert launch is None or not launch.check(result.memory), what
        counted = result.counters
        assert counted["nops"] == 0, f"{what}: these schemes drop, they do not replace"
        assert counted["cycles"] == counted["committed"] + sum(counted["stalls"].values()), what
        assert counted["errors"] <= counted["discrepancies"], what


@pytest.mark.xdist_group("TINY policies")
def test_every_policy_in_swas():
    """One build holds all policies; barriers and wspawn end under the strict ones too."""
    config = replace(TINY, policies=tuple(POLICIES))
    jobs = []
    for policy, name in itertools.product(config.policies, ("vecadd", "psum", "diverge")):
        launch = prepare(name, "int32", 11, 1, config)
        jobs.append((launch, RunRequest(launch=launch, policy=policy, latency=7, check=True, max_cycles=200_000)))
    for number, policy in enumerate(config.policies * 3):
        program = RandomProgram(random.Random(f"{SEED}/{policy}/{number}"), config, floats=False).program
        jobs.append((None, RunRequest(
            launch=RawProgram(program.assemble()), policy=policy, memory="random", latency=40, seed=number, check=True,
            max_cycles=400_000,
        )))
    results = run_many(config, [request for _, request in jobs])
    for number, ((launch, request), result) in enumerate(zip(jobs, results, strict=True)):
        what = f"seed {SEED}, job {number}, {request.policy}"
        counted = result.counters
        assert (counted["discrepancies"], counted["errors"]) == (0, 0), what
        assert counted["cycles"] == counted["committed"] + counted["nops"] + sum(counted["stalls"].values()), what
        assert not problems(result), f"{what}: {problems(result)}"
        assert launch is None or not launch.check(result.memory), what
