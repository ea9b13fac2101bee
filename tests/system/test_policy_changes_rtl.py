"""Programs that change the parameters of the policies: lock step, the oracles, and the prediction of every cycle."""

from dataclasses import replace

import pytest

from metronome.hdl.config import Channels, Coordination
from metronome.sim.run.runner import run
from tests.support.builds import BASE
from tests.system.oracles import oracle_differences
from tests.system.policy_programs import CHANGING, POLICIES_THAT_CHANGE, requests
from tests.system.prediction import differences

SEED = 20261125
OTHERS = {
    "base": replace(BASE, policies=POLICIES_THAT_CHANGE, policy_csr=True, dcache_bytes=512, dcache_ways=2),
    "six warps": replace(CHANGING, warps=6, threads=1, rates=(4, 1, 3, 1, 1, 2), channels=Channels.FREE,
                         channel_depth=3),
}


def check(config, numbers, *, predicted=True):
    """Each program; returns the changes that the policies saw."""
    bad, changes = [], 0
    for number, request in zip(numbers, requests(config, SEED, numbers), strict=True):
        if config.fetch_policies:
            request = replace(request, fetch_policy=config.fetch_policies[number % len(config.fetch_policies)])
        result = run(config, request)
        told = [*result.mismatches[:1], *result.assertions]
        told += [f"{each}: {result.counters[each]}" for each in ("discrepancies", "errors")
                 if predicted and result.counters[each]]
        told += differences(config, request, result)[:1] if predicted else []
        # A program may starve a warp of variable_rate_strict, which then goes on without end.
        if result.status == "ended":
            told += oracle_differences(config, request.policy, result)
        elif "rate" not in request.policy or result.status not in ("hang", "deadlock"):
            told.append(f"status {result.status}, {result.fault}")
        changes += int((result.events["control"]["change"] != 0).sum())
        bad += [f"program {number}, {request.policy}, {request.memory}: {line}" for line in told]
    assert not bad, f"seed {SEED}: {len(bad)} of {len(numbers)}\n" + "\n".join(bad[:5])
    return changes


@pytest.mark.build("changing")
@pytest.mark.long
def test_random_programs():
    assert check(CHANGING, range(16)) > 50


@pytest.mark.build("changing")
@pytest.mark.long
def test_more_random_programs():
    assert check(CHANGING, range(16, 200)) > 1000


@pytest.mark.long  # a build of half a minute each
@pytest.mark.parametrize("name", OTHERS)
def test_other_machines(name):
    assert check(OTHERS[name], range(300, 360)) > 200


@pytest.mark.long  # builds of their own
@pytest.mark.parametrize("coordination", [Coordination.BASELINE, Coordination.VORTEX])
def test_two_schedulers(coordination):
    """Both follow the same change; the prediction does not know these front ends."""
    config = replace(CHANGING, coordination=coordination, fetch_policies=POLICIES_THAT_CHANGE)
    assert check(config, range(400, 440), predicted=False) > 100
