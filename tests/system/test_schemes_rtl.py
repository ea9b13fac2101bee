"""Every front end on the RTL in lock step: pairs of policies, predictions, memory models, with and without caches."""

import itertools
import random
from dataclasses import replace

import pytest

from metronome.hdl.config import Coordination
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.sim.machine.golden.iss_programs import RandomProgram
from tests.support.builds import PAPER, on
from tests.support.tiers import some_long
from tests.system import scheme_builds as schemes
from tests.system.rtl_programs import RawProgram, problems

SEED = 20261122
MAIN_KERNELS = ("vecadd", "sgemm", "psort", "diverge")
#: At the size of Crouzet 2024, beside all builds (tests/system/test_without_caches_rtl.py has the other presets).
PAPER_CACHES = {**schemes.CACHES, "no caches": {"dcache_bytes": 0, "icache_bytes": 0}}


def check_counters(what, config, counted):
    """Every cycle issued an instruction, a NOP, or nothing for one reason."""
    assert counted["cycles"] == counted["committed"] + counted["nops"] + sum(counted["stalls"].values()), what
    if config.coordination is not Coordination.SWAS:
        assert counted["nops"] == 0, f"{what}: this scheme drops, it does not replace"
        assert counted["errors"] <= counted["discrepancies"], what
    else:
        assert (counted["discrepancies"], counted["errors"]) == (0, 0), what


@pytest.mark.parametrize("turn", some_long([0, 1], 1))
@pytest.mark.parametrize(("preset", "scheme", "prediction", "caches"), list(schemes.builds()))
def test_kernels_and_random_programs(preset, scheme, prediction, caches, turn):
    """Each kernel with each pair of policies, one with integers and the next with floats; in the other turn vice versa.

    On half of the memory models: two pairs that follow each other have them all.
    """
    _, size, side, programs = schemes.SIZES[preset]
    config, pairs = schemes.build_of(preset, scheme, prediction, caches)
    jobs = []
    quick = (preset, scheme, prediction, caches) in schemes.QUICK
    for (place, name), (number, (fetch, issue)) in itertools.product(enumerate(schemes.NAMES), enumerate(pairs)):
        if quick and (place + number) % 3 != turn:
            continue  # `make test` has little time
        memory, latency, seed = schemes.MEMORIES[(place + number + 2 * turn) % len(schemes.MEMORIES)]
        dtype = schemes.TYPES[(place + number // 2 + turn) % 2]
        launch = prepare(name, dtype, side if name in schemes.MATRIX_KERNELS else size, seed, config)
        jobs.append((launch, RunRequest(
            launch=launch, policy=issue, fetch_policy=fetch, memory=memory, latency=latency, seed=seed, check=True,
            max_cycles=2_000_000,
        )))
    for number in range(programs * turn // 2, programs * (turn + 1) // 2):
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


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "caches"), [
    pytest.param(scheme, caches, marks=on(f"PAPER {scheme} {caches}"))
    for scheme, caches in itertools.product(schemes.SCHEMES, PAPER_CACHES)
])
def test_main_kernels_at_the_papers_size(scheme, caches):
    """Every memory model; policies, and integers and floats, in turn."""
    policies, fetch_policies = schemes.SCHEMES[scheme]
    config = replace(
        PAPER, coordination=scheme, policies=policies[:3], fetch_policies=fetch_policies[:1], **PAPER_CACHES[caches]
    )
    jobs = []
    for number, (name, (memory, latency, seed)) in enumerate(itertools.product(MAIN_KERNELS, schemes.MEMORIES)):
        # The next kernel begins with the other type.
        dtype = schemes.TYPES[(number + number // len(schemes.MEMORIES)) % 2]
        launch = prepare(name, dtype, 32 if name in schemes.MATRIX_KERNELS else 1024, seed, config)
        jobs.append((launch, RunRequest(
            launch=launch, policy=config.policies[number % 3], fetch_policy=next(iter(config.fetch_policies), None),
            memory=memory, latency=latency, seed=seed, check=True,
        )))
    results = run_many(config, [request for _, request in jobs])
    for number, ((launch, request), result) in enumerate(zip(jobs, results, strict=True)):
        what = f"job {number}: {request.policy}, {request.memory}"
        assert not problems(result), f"{what}: {problems(result)}"
        assert not launch.check(result.memory), what
        check_counters(what, config, result.counters)
