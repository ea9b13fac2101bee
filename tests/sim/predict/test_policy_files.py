"""Predictions with a policy from a file: as with the same policy of ours, and what a wrong one is told."""

import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.sim.machine.schemes import check_scheme, coordinate
from metronome.sim.predict.choosing import PickError
from metronome.sim.predict.predictor import CannotPredictError, predict
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest

OURS = {
    "LooseRoundRobin": "lrr", "GreedyOldest": "gto", "GreedyOldestDispatch": "gto_dispatch", "PureRoundRobin": "prr",
    "StrictRoundRobin": "srr", "MostActiveThreads": "pta", "FewestFetched": "icount", "TwoLevelRoundRobin": "two_level",
    "VariableRate": "variable_rate",
}
BASES = """
from metronome.sim.machine.policies.base import Policy, lowest, members
class _Base(Policy):
    def reset(self): return 0
    def pick(self, state, inputs): return lowest(inputs.eligible)
    def update(self, state, inputs, picked): return state
"""


HIDDEN = """    asked = 0
    def pick(self, state, inputs):
        self.asked += 1
        all = members(inputs.eligible)
        return all[{}] if all else None
"""


@pytest.fixture
def predicted(tmp_path, own_policies):
    """A function: the prediction of a kernel with the policy of a file with this text, or with one of ours."""

    def of(policy, text=None, kernel="sgemm", size=8, config=TINY):
        if text is not None:
            (tmp_path / "mine.py").write_text(text)
            policy = f"{tmp_path / 'mine.py'}:{policy}"
        scheme = check_scheme(config, issue=policy)
        machine = coordinate(config, scheme)
        return predict(machine, RunRequest(launch=prepare(kernel, size=size, config=machine), policy=scheme.issue))

    return of


@pytest.mark.parametrize(("name", "ours"), OURS.items())
@pytest.mark.parametrize("config", [TINY, pytest.param(BASE, marks=pytest.mark.more)], ids=["TINY", "BASE"])
def test_a_copy_of_ours_predicts_the_same(predicted, name, ours, config):
    text = f"from metronome.sim.machine.policies import plain\nclass Mine(plain.{name}): pass\n"
    mine, other = predicted("Mine", text, config=config), predicted(ours, config=config)
    assert mine.result.counters == other.result.counters
    assert mine.result.total_cycles == other.result.total_cycles and (mine.issued == other.issued).all()
    assert other.asked == 0 < mine.asked <= mine.result.total_cycles + 1


def test_it_is_asked_once_for_each_state_and_inputs(predicted):
    mine = predicted("Mine", BASES + "class Mine(_Base): pass\n", kernel="psort", size=64)
    assert mine.result.total_cycles > 20_000 and mine.asked < 3000


WRONG = {
    "a warp that is not eligible": ("    def pick(self, state, inputs): return 1",
                                    r"in cycle 0 pick returned 1, which is no eligible warp \(eligible: none\)"),
    "no warp": ("    def pick(self, state, inputs): return '0'", "in cycle 0 pick returned '0'"),
    "raises": ("    def pick(self, state, inputs): return [][3]",
               r"in cycle 0 it raised IndexError: list index out of range \(mine\.py, line \d+\)"),
    "not declared": ("    def pick(self, state, inputs): return lowest(inputs.eligible & inputs.active)",
                     r"in cycle 0 it raised AttributeError: reads lacks 'active'.* \(mine\.py, line 8\)"),
    "hidden state": (HIDDEN.format("self.asked % len(all)"), "in cycle .* pick or update did not do what"),
}


@pytest.mark.parametrize(("method", "message"), WRONG.values(), ids=WRONG)
def test_what_a_wrong_policy_is_told(predicted, method, message):
    with pytest.raises(PickError, match=rf"^Mine_[0-9a-f]{{8}}: {message}"):
        predicted("Mine", f"{BASES}class Mine(_Base):\n{method}\n")


def test_hidden_state_is_found_late_too(predicted):
    """When choices are taken from those of before: the policy is asked again once in a while."""
    method = HIDDEN.format("-1 if self.asked > 2060 else 0")
    with pytest.raises(PickError, match="pick or update did not do what it did before"):
        predicted("Mine", f"{BASES}class Mine(_Base):\n{method}\n", kernel="psort", size=64)


@pytest.mark.parametrize("following", ["[picked]", "state + 1"], ids=["no hash", "always another"])
def test_states_that_cannot_be_kept_are_right_and_slow(predicted, following):
    method = f"    def update(self, state, inputs, picked): return {following}"
    mine, other = predicted("Mine", f"{BASES}class Mine(_Base):\n{method}\n"), predicted("fixed")
    assert mine.result.counters == other.result.counters and mine.asked >= mine.result.total_cycles - 1


def test_one_without_a_class_in_python_is_refused(predicted):
    text = "from metronome.hdl.policies.fixed import FixedPriority\nclass MineHardware(FixedPriority): pass\n"
    with pytest.raises(CannotPredictError, match=r"^mine\.py has no class Mine in plain Python"):
        predicted("Mine", text)
