"""Policies with parameters on whole programs: lock step, no error of the oracles, and the prediction of every cycle."""

from dataclasses import replace

import pytest

from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.support.builds import BASE, SMALL, TINY, on
from tests.system.prediction import differences

#: As many as not to go round with the policies: each policy gets all of them.
MEMORIES = ("fixed", "dram", "random", "tdm")
POLICIES = ("two_level", "variable_rate", "variable_rate_strict")
MATRICES = {"sgemm", "transpose", "conv3", "sfilter", "sgemm_group", "hotspot", "hotspot3d"}
#: Not what a configuration has by default: groups of one warp, rates that differ, three quarters for the last warp.
OTHERS = {
    "tiny": replace(TINY, policies=POLICIES),
    "groups of one": replace(TINY, policies=POLICIES, group_warps=1, rates=(1, 3)),
    "four warps": replace(BASE, policies=POLICIES, group_warps=1, rates=(5, 3, 1, 2)),
    "six warps": replace(BASE, warps=6, policies=POLICIES, group_warps=2, rates=(4, 1, 3, 1, 1, 2)),
}


def check(config, names, sizes, policies=POLICIES):
    """Every one of these kernels under each of the policies; returns the cycles of all."""
    small, side = sizes
    asked = [
        (kernel.name, RunRequest(
            launch=prepare(kernel.name, dtype, side if kernel.name in MATRICES else small, 1, config), policy=policy,
            check=True, trace=True, memory=MEMORIES[place % len(MEMORIES)],
        ))
        for place, (kernel, dtype, policy) in enumerate(
            (kernel, dtype, policy)
            for kernel in kernels() if kernel.name in names for dtype in kernel.types for policy in policies
        )
    ]
    bad, cycles = [], 0

    def take(at, result):
        nonlocal cycles
        name, request = asked[at]
        cycles += result.total_cycles
        told = [] if result.status == "ended" else [f"{result.status}: {result.mismatches[:1]}"]
        told += request.launch.check(result.memory) or []
        told += [f"{each}: {result.counters[each]}" for each in ("discrepancies", "errors") if result.counters[each]]
        bad.extend(f"{name}, {request.policy}: {line}" for line in told + differences(config, request, result)[:1])
        result.events = None

    run_many(config, [request for _, request in asked], on_result=take)
    assert not bad, f"{len(bad)} of {len(asked)}\n" + "\n".join(bad[:5])
    return cycles


@on("SMALL")
def test_default_parameters():
    assert check(SMALL, {"psum"}, (21, 4), (*POLICIES, "ccws")) > 0


@pytest.mark.long  # a build of half a minute each, every kernel; the same with few kernels is above
@pytest.mark.parametrize("name", OTHERS)
def test_other_parameters(name):
    assert check(OTHERS[name], {kernel.name for kernel in kernels()}, (37, 6)) > 0
