"""The first wrong pick is in the first cycle in which the schedules of submission and solution differ."""

import pytest

from metronome.sim.machine.policies.plain import POLICIES, GreedyOldestDispatch
from metronome.sim.predict.predictor import Recordings, predict
from metronome.sim.run.types import RunRequest
from metronome.sim.studies.course.cases import REFERENCE, Kit, launch_of
from metronome.sim.studies.course.difference import Difference, first_difference
from tests.sim.studies.course.wrong_solutions import OldestByNumber, TiesToTheHighest, Youngest
from tests.support.tiers import more_but

KIT = Kit.read(REFERENCE)
CASE = KIT.cases[0]
RECORDINGS = Recordings()


class Here:
    """A submission in this process."""

    def __init__(self, policy):
        self.policy, self.reads = policy, policy.reads

    def __getattr__(self, name):
        return getattr(self.policy, name)

    def shown(self, state):
        return repr(state)


def issued(policy):
    request = RunRequest(
        launch=launch_of(CASE, KIT.folder), policy="gto_dispatch", memory=CASE.memory, latency=CASE.latency,
        seed=CASE.seed, max_cycles=20_000,
    )
    return predict(CASE.config(), request, policy=policy, recordings=RECORDINGS).issued


@pytest.mark.slow
@pytest.mark.parametrize("kind", more_but([OldestByNumber, TiesToTheHighest, Youngest], [OldestByNumber]))
def test_it_is_where_the_schedules_part(kind):
    policy = kind.of(CASE.config())
    found = first_difference(CASE, KIT.folder, Here(policy), most_cycles=20_000, recordings=RECORDINGS)
    pairs = zip(issued(policy), issued(POLICIES["gto_dispatch"].of(CASE.config())), strict=False)
    mine, solution = next((mine, solution) for mine, solution in pairs if mine != solution)
    # The log has the cycle after the pick.
    assert found.cycle == mine["cycle"] == solution["cycle"]
    assert (found.picked, found.solution) == (mine["warp"], solution["warp"])
    assert found.state.startswith("Order(last=") and {found.picked, found.solution} <= set(found.inputs["eligible"])


@pytest.mark.slow
def test_the_solution_has_none():
    policy = GreedyOldestDispatch.of(CASE.config())
    assert first_difference(CASE, KIT.folder, Here(policy), most_cycles=20_000, recordings=RECORDINGS) is None


def test_the_lines():
    inputs = {"eligible": [0, 1, 2, 5], "active": [0, 2, 3], "waiting": [], "activated": [7], "lost": []}
    found = Difference(cycle=3, inputs=inputs, state="S(1)", picked=None, solution=5)
    assert str(found) == "cycle 3: it picks no warp, the solution picks warp 5"
    assert found.lines() == [
        "  state   S(1)", "  inputs  eligible {0-2, 5}, active {0, 2-3}, waiting {}, activated {7}, lost {}",
    ]
