"""Every kernel on the RTL in lock step: presets, policies, memory models."""

import itertools

import pytest

from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.support.builds import BASE, MID, PAPER, TINY, on
from tests.system.rtl_programs import problems
from tests.system.scheme_builds import MATRIX_KERNELS, MORE_KERNELS, USUAL

#: Small sizes that are no multiple of the lanes, so that the remainders run too. A matrix kernel takes the square.
SIZES = {"TINY": (11, 3), "BASE": (37, 6), "MID": (133, 9)}
PRESETS = {"TINY": TINY, "BASE": BASE, "MID": MID}
MEMORIES = [("fixed", latency, 1) for latency in (1, 20, 100)] + [("random", 60, seed) for seed in range(1, 6)]
#: Floats are another path through the SM, not another one through memory: fewer.
FLOAT_MEMORIES = [("fixed", 1, 1), ("fixed", 20, 1), ("random", 60, 1)]
MORE_MEMORIES = [("random", 60, 1)]
PROGRAMS = [(kernel.name, dtype) for kernel in kernels() for dtype in kernel.types]
#: `make test` has each once (test_cycles_rtl), and as it is predicted (test_prediction_rtl).
CASES = [pytest.param(preset, *program, marks=[on(preset), pytest.mark.more if preset == "TINY" else pytest.mark.long])
         for preset, program in itertools.product(PRESETS, PROGRAMS)]


@on("TINY")
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, dtype in PROGRAMS if dtype == "int32" and name not in MORE_KERNELS])
def test_kernel_in_lock_step_on_every_memory(name):
    """What :func:`test_kernel_in_lock_step` leaves out on TINY."""
    check("TINY", name, "int32", [memory for memory in MEMORIES if memory not in FLOAT_MEMORIES])


@pytest.mark.parametrize(("preset", "name", "dtype"), CASES)
def test_kernel_in_lock_step(preset, name, dtype):
    """The usual policies; integers on fixed memory of latency 1, 20, 100 and on random memory with 5 seeds.

    Fewer for floats, on TINY, and for the kernels that others stand for.
    """
    usual = MEMORIES if dtype == "int32" and preset != "TINY" else FLOAT_MEMORIES
    policies = USUAL[-1:] if name in MORE_KERNELS and preset == "TINY" else USUAL
    check(preset, name, dtype, MORE_MEMORIES if name in MORE_KERNELS else usual, policies)


def check(preset, name, dtype, memories, policies=USUAL):
    config = PRESETS[preset]
    combinations = list(itertools.product(policies, memories))
    size = SIZES[preset][name in MATRIX_KERNELS]
    requests = [
        RunRequest(
            launch=prepare(name, dtype, size, place, config), policy=policy, memory=memory, latency=latency, seed=seed,
            check=True, memcheck=True,
        )
        for place, (policy, (memory, latency, seed)) in enumerate(combinations)
    ]
    for request, result, combination in zip(requests, run_many(config, requests), combinations, strict=True):
        assert not problems(result), f"{combination}: {problems(result)}"
        assert result.memcheck == [], combination
        assert not request.launch.check(result.memory), combination
        counted = result.counters
        assert counted["cycles"] == counted["committed"] + counted["nops"] + sum(counted["stalls"].values())
        assert (counted["discrepancies"], counted["errors"]) == (0, 0), combination


@pytest.mark.long  # a build of minutes
@on("PAPER")
@pytest.mark.parametrize(("name", "dtype", "size"), [
    ("vecadd", "int32", 1024), ("sgemm", "int32", 32), ("psort", "int32", 1024), ("diverge", "int32", 1024),
    ("vecadd", "float32", 1024), ("saxpy", "float32", 1024), ("sgemm", "float32", 32), ("psort", "float32", 1024),
])
def test_kernel_at_the_papers_size(name, dtype, size):
    """32 warps of 32 threads, n = 1024."""
    launch = prepare(name, dtype, size, 1, PAPER)
    (result,) = run_many(PAPER, [RunRequest(launch=launch, policy="gtlrr", check=True)])
    assert not problems(result), problems(result)
    assert not launch.check(result.memory)
