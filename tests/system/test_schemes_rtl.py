"""Every front end on the RTL in lock step: pairs of policies, predictions, memory models, with and without caches."""

import itertools
import random

import pytest

from hdl.config import Coordination
from sim.kernel import prepare
from sim.runner import RunRequest, run_many
from tests.sim.iss.iss_programs import RandomProgram
from tests.system.rtl_programs import RawProgram, problems
from tests.system.scheme_builds import MATRIX_KERNELS, MEMORIES, NAMES, SIZES, build_of, builds

SEED = 20261122
TYPES = ("int32", "float32")


def check_counters(what, config, counted):
    """Every cycle issued an instruction, a NOP, or nothing for one reason."""
    assert counted["cycles"] == counted["committed"] + counted["nops"] + sum(counted["stalls"].values()), what
    if config.coordination is not Coordination.SWAS:
        assert counted["nops"] == 0, f"{what}: this scheme drops, it does not replace"
        assert counted["errors"] <= counted["discrepancies"], what
    else:
        assert (counted["discrepancies"], counted["errors"]) == (0, 0), what


@pytest.mark.parametrize(("preset", "scheme", "prediction", "caches"), list(builds()))
def test_kernels_and_random_programs(preset, scheme, prediction, caches):
    _, size, side, programs = SIZES[preset]
    config, pairs = build_of(preset, scheme, prediction, caches)
    jobs = []
    for (place, name), (number, (fetch, issue)), turn in itertools.product(enumerate(NAMES), enumerate(pairs), (0, 1)):
        # Each kernel with each pair, once with integers and once with floats, on half of the models: two pairs that
        # follow each other have them all.
        memory, latency, seed = MEMORIES[(place + number + 2 * turn) % len(MEMORIES)]
        launch = prepare(name, TYPES[turn], side if name in MATRIX_KERNELS else size, seed, config)
        jobs.append((launch, RunRequest(
            launch=launch, policy=issue, fetch_policy=fetch, memory=memory, latency=latency, seed=seed, check=True,
            max_cycles=2_000_000,
        )))
    for number in range(programs):
        rng = random.Random(f"{SEED}/{number}")
        program = RawProgram(RandomProgram(rng, config).program.assemble())
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
