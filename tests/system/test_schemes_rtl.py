"""Every front end on the RTL in lock step: all pairs of policies, both predictions, both memories."""

import itertools
import random
from dataclasses import replace

import pytest

from hdl.config import Coordination, Prediction
from hdl.policies import POLICIES
from hdl.presets import BASE, MID, TINY
from sim.kernel import kernels, prepare
from sim.runner import RunRequest, run_many
from tests.sim.iss.iss_programs import RandomProgram
from tests.system.rtl_programs import RawProgram, problems

#: Issue and fetch policies of a scheme: all in swas; the paper's nine pairs; Vortex's own fixed priority (policies.md).
USUAL = ("lrr", "gtlrr", "gtlo")
SCHEMES = {
    Coordination.SWAS: (tuple(POLICIES), ()),
    Coordination.BASELINE: (USUAL, USUAL),
    Coordination.VORTEX: (USUAL, ("fixed",)),
}
#: Preset, problem size, side of a matrix, random programs.
SIZES = {"TINY": (TINY, 11, 3, 30), "BASE": (BASE, 37, 6, 30), "MID": (MID, 133, 9, 20)}
MEMORIES = [("fixed", 20, 1), ("random", 60, 2)]
NAMES = [kernel.name for kernel in kernels() if "int32" in kernel.types]
SEED = 20261122

#: What `make test` runs of BASE; the rest, and MID, are long.
QUICK = {(Coordination.VORTEX, Prediction.NOT_TAKEN), (Coordination.BASELINE, Prediction.BTFN)}


def builds():
    """One parameter a build; each is a group, so that two processes do not wait for each other's."""
    for preset, scheme, prediction in itertools.product(SIZES, SCHEMES, Prediction):
        quick = preset == "TINY" or (preset == "BASE" and (scheme, prediction) in QUICK)
        marks = [pytest.mark.xdist_group(f"{preset} {scheme} {prediction}"), *([] if quick else [pytest.mark.long])]
        yield pytest.param(preset, scheme, prediction, marks=marks)


def check_counters(what, config, counted):
    """Every cycle issued an instruction, a NOP, or nothing for one reason."""
    assert counted["cycles"] == counted["committed"] + counted["nops"] + sum(counted["stalls"].values()), what
    if config.coordination is not Coordination.SWAS:
        assert counted["nops"] == 0, f"{what}: this scheme drops, it does not replace"
        assert counted["errors"] <= counted["discrepancies"], what
    else:
        assert (counted["discrepancies"], counted["errors"]) == (0, 0), what


@pytest.mark.parametrize(("preset", "scheme", "prediction"), list(builds()))
def test_kernels_and_random_programs(preset, scheme, prediction):
    base, size, side, programs = SIZES[preset]
    policies, fetch_policies = SCHEMES[scheme]
    config = replace(
        base, coordination=scheme, policies=policies, fetch_policies=fetch_policies, prediction=prediction,
    )
    pairs = list(itertools.product(fetch_policies or (None,), policies))
    jobs = []
    for name, (fetch, issue), (memory, latency, seed) in itertools.product(NAMES, pairs, MEMORIES):
        launch = prepare(name, "int32", side if name in ("sgemm", "transpose") else size, seed, config)
        jobs.append((launch, RunRequest(
            launch=launch, policy=issue, fetch_policy=fetch, memory=memory, latency=latency, seed=seed, check=True,
            max_cycles=2_000_000,
        )))
    for number in range(programs):
        rng = random.Random(f"{SEED}/{number}")
        program = RawProgram(RandomProgram(rng, config, floats=False).program.assemble())
        fetch, issue = pairs[number % len(pairs)]
        jobs.append((None, RunRequest(
            launch=program, policy=issue, fetch_policy=fetch, memory="random", latency=40, seed=number, check=True,
            max_cycles=400_000,
        )))
    results = run_many(config, [request for _, request in jobs])
    for number, ((launch, request), result) in enumerate(zip(jobs, results, strict=True)):
        what = f"seed {SEED}, job {number}: {request.fetch_policy}-{request.policy}, {request.memory}"
        assert not problems(result), f"{what}: {problems(result)}"
        if launch is not None:
            assert not launch.check(result.memory), what
            check_counters(what, config, result.counters)
