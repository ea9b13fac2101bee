"""Predictions with a policy from a file: as with the same policy of ours, and what a wrong one is told."""

import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.sim.machine.schemes import check_scheme, coordinate
from metronome.sim.machine.settings import ConfigError
from metronome.sim.predict import choosing
from metronome.sim.predict.choosing import PickError
from metronome.sim.predict.predictor import CannotPredictError, predict
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from tests.support.tiers import some_more

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


@pytest.mark.parametrize("name", some_more(list(OURS), 2))
@pytest.mark.parametrize("config", [TINY, pytest.param(BASE, marks=pytest.mark.more)], ids=["TINY", "BASE"])
def test_a_copy_of_ours_predicts_the_same(predicted, name, config):
    text = f"from metronome.sim.machine.policies import plain\nclass Mine(plain.{name}): pass\n"
    mine, other = predicted("Mine", text, config=config), predicted(OURS[name], config=config)
    assert mine.result.counters == other.result.counters
    assert mine.result.total_cycles == other.result.total_cycles and (mine.issued == other.issued).all()
    assert other.asked == 0 < mine.asked <= mine.result.total_cycles + 1


def test_it_is_asked_once_for_each_state_and_inputs(predicted):
    mine = predicted("Mine", BASES + "class Mine(_Base): pass\n", kernel="psort", size=64)
    assert mine.result.total_cycles > 20_000 and mine.asked < 3000


WRONG = {
    "a warp that is not eligible": ("    def pick(self, state, inputs): return 1",
                                    r"in cycle 0 pick returned 1, which is no eligible warp \(eligible: none, so .*"),
    "no warp": ("    def pick(self, state, inputs): return '0'", "in cycle 0 pick returned '0'"),
    "raises": ("    def pick(self, state, inputs): return [][3]",
               r"in cycle 0 it raised IndexError: list index out of range \(mine\.py, line \d+\)"),
    "not declared": ("    def pick(self, state, inputs): return lowest(inputs.eligible & inputs.active)",
                     r"in cycle 0 it raised AttributeError: reads lacks 'active'.* \(mine\.py, line 8\)"),
    "hidden state": (HIDDEN.format("self.asked % len(all)"),
                     r"in cycle 0 it raised ValueError: self\.asked has changed: a policy may remember"),
}


@pytest.mark.parametrize(("method", "message"), WRONG.values(), ids=WRONG)
def test_what_a_wrong_policy_is_told(predicted, method, message):
    with pytest.raises(PickError, match=rf"^Mine_[0-9a-f]{{8}}: {message}"):
        predicted("Mine", f"{BASES}class Mine(_Base):\n{method}\n")


PICK = "    def pick(self, state, inputs):\n        {}\n        return super().pick(state, inputs)"
HIDDEN_STATES = {
    "an attribute": "class Mine(_Base):\n" + PICK.format("self.n = 1"),
    "of the class": "class Mine(_Base):\n    n = 0\n" + PICK.format("Mine.n += 1"),
    "in a container": "class Mine(_Base):\n    n = [0]\n" + PICK.format("self.n[0] += 1"),
    "a global": "N = [0]\nclass Mine(_Base):\n" + PICK.format("N[0] += 1"),
    "from run to run": "N = [0]\nclass Mine(_Base):\n    def __init__(self, *, warps):\n"
                       "        super().__init__(warps=warps)\n        N[0] += 1",
}


@pytest.mark.parametrize("text", HIDDEN_STATES.values(), ids=HIDDEN_STATES)
def test_a_policy_remembers_in_its_state_alone(predicted, text):
    with pytest.raises(PickError, match=r"has changed: a policy may remember in its state alone"):
        predicted("Mine", f"{BASES}{text}\n")


def test_choices_that_differ_by_chance_are_found(predicted):
    """Also late, when they are taken from those of before: the policy is asked again once in a while."""
    text = (
        "import itertools\nN = itertools.count()\nclass Mine(_Base):\n    def pick(self, state, inputs):\n"
        "        all = members(inputs.eligible)\n        return all[-1 if next(N) > 2060 else 0] if all else None\n"
    )
    with pytest.raises(PickError, match=r"pick or update did not do what|N has changed"):
        predicted("Mine", BASES + text, kernel="psort", size=64)


def test_a_policy_opens_no_file(predicted, tmp_path):
    (tmp_path / "table.json").write_text("[1]")
    reads = f"open({str(tmp_path / 'table.json')!r}).read()"
    with pytest.raises(PickError, match=r"it opens table\.json: a policy is one file, and reads no other"):
        predicted("Mine", f"{BASES}class Mine(_Base):\n{PICK.format(reads)}\n")
    with pytest.raises(ConfigError, match=r"line \d+: PermissionError: it opens table\.json"):
        predicted("Mine", f"{BASES}TABLE = {reads}\nclass Mine(_Base): pass\n")


@pytest.mark.parametrize(("text", "message"), [
    ("def __init__(self): pass", r"it cannot begin: it raised TypeError"),
    ("def reset(self): return 1 / 0", "ZeroDivisionError"),
    ("def pick(self, state, inputs): raise SystemExit(0)", "SystemExit: 0"),
])
def test_whatever_it_raises_is_one_line(predicted, text, message):
    with pytest.raises(PickError, match=rf"^Mine_[^\n]*{message}[^\n]*$"):
        predicted("Mine", f"{BASES}class Mine(_Base):\n    {text}\n")


def test_lost_lines_are_there_only_with_victim_tags(predicted):
    with pytest.raises(CannotPredictError, match=r"Mine_\w+ reads lost, which only a build with ccws has: add it"):
        predicted("Mine", f"{BASES}class Mine(_Base):\n    reads = ('eligible', 'lost')\n")


STATES = {
    "a mutable object": "class S:\n    n = 0\n", "a list": "S = lambda: [0]\n",
    "compared in part": "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass S:\n"
                        "    n: int = dataclasses.field(default=0, compare=False)\n",
}


@pytest.mark.more
@pytest.mark.parametrize("made", STATES.values(), ids=STATES)
def test_states_of_other_kinds_are_right(predicted, made):
    """A counter of cycles that changes the choice after the choices are kept."""
    update = {"a list": "[state[0] + 1]"}
    kind = next(name for name, text in STATES.items() if text == made)
    usual = "dataclasses.replace(state, n=state.n + 1)" if "dataclasses" in made else "self.counted(state)"
    new = update.get(kind, usual)
    count = "state[0]" if kind == "a list" else "state.n"
    body = (
        "class Mine(_Base):\n    def reset(self): return S()\n"
        f"    def update(self, state, inputs, picked): return {new}\n"
        "    def counted(self, state):\n        state.n += 1\n        return state\n"
        "    def pick(self, state, inputs):\n        all = members(inputs.eligible)\n"
        f"        return all[-1 if {count} & 4096 else 0] if all else None\n"
    )
    plain = ("class Mine(_Base):\n    def update(self, state, inputs, picked): return state + 1\n"
             "    def pick(self, state, inputs):\n        all = members(inputs.eligible)\n"
             "        return all[-1 if state & 4096 else 0] if all else None\n")
    mine = predicted("Mine", BASES + made + body, kernel="psort", size=64)
    other = predicted("Mine", BASES + plain, kernel="psort", size=64)
    assert mine.result.counters == other.result.counters and mine.result.total_cycles > 20_000


@pytest.mark.parametrize("following", ["[picked]", "state + 1"], ids=["no hash", "always another"])
def test_states_that_cannot_be_kept_are_right_and_slow(predicted, following):
    method = f"    def update(self, state, inputs, picked): return {following}"
    mine, other = predicted("Mine", f"{BASES}class Mine(_Base):\n{method}\n"), predicted("fixed")
    assert mine.result.counters == other.result.counters and mine.asked >= mine.result.total_cycles - 1


@pytest.mark.parametrize("pick", ["np.int64(w)", "np.uint8(w)"])
def test_an_integer_of_numpy_is_a_pick(predicted, pick):
    """Also in a state, which is plain data then."""
    text = ("import numpy as np\nclass Mine(_Base):\n    def reset(self): return np.int32(0), 0.5\n"
            "    def pick(self, state, inputs):\n        w = lowest(inputs.eligible)\n"
            f"        return None if w is None else {pick}\n")
    mine, other = predicted("Mine", BASES + text), predicted("fixed")
    assert mine.result.counters == other.result.counters and mine.asked < mine.result.total_cycles / 2


@pytest.mark.parametrize(("pick", "said"), [("True", "True"), ("-1", "-1"), ("2.0", "2.0"), ("64", "64"),
                                            ("'long' * 99", "'long")])
def test_what_is_no_warp(predicted, pick, said):
    with pytest.raises(PickError, match=rf"in cycle 0 pick returned {said}[^\n]*, which is no eligible warp") as error:
        predicted("Mine", f"{BASES}class Mine(_Base):\n    def pick(self, state, inputs): return {pick}\n")
    assert len(str(error.value)) < 200


def test_the_inputs_cannot_be_changed(predicted):
    body = "class Mine(_Base):\n    def pick(self, state, inputs): inputs.eligible = 0\n"
    with pytest.raises(PickError, match="AttributeError: eligible is an input: a policy cannot change it"):
        predicted("Mine", BASES + body)


SLOW = [
    ("[picked]", "its state contains a list, which may change"),
    ("(1, {2: 3})", "its state contains a dict, which may change"),
    ("state + 1", "these cycles have a new state or new inputs"),
    pytest.param("(state,)", "its states are nested too deeply", marks=pytest.mark.more),
]


@pytest.mark.parametrize(("following", "reason"), SLOW)
def test_why_a_policy_is_asked_in_every_cycle(predicted, following, reason):
    update = f"    def update(self, state, inputs, picked): return {following}\n"
    mine = predicted("Mine", f"{BASES}class Mine(_Base):\n{update}")
    assert mine.reason == reason and mine.asked >= mine.result.total_cycles - 1


def test_states_that_grow_are_kept_up_to_a_size(predicted, monkeypatch):
    monkeypatch.setattr(choosing, "_MOST_PARTS", 1000)
    made = []
    monkeypatch.setattr(choosing, "_parts", lambda plain: made.append(plain) or len(str(plain)))
    update = "    def update(self, state, inputs, picked): return (*state, 0) if state else (0,)\n"
    mine, other = predicted("Mine", f"{BASES}class Mine(_Base):\n{update}"), predicted("fixed")
    assert mine.result.counters == other.result.counters and len(made) < 60


def test_inputs_that_make_it_slow(predicted):
    mine = predicted("Mine", f"{BASES}class Mine(_Base):\n    reads = ('eligible', 'lanes')\n")
    assert mine.reason == "it reads lanes" and mine.asked >= mine.result.total_cycles - 1


def test_one_without_a_class_in_python_is_refused(predicted):
    text = "from metronome.hdl.policies.fixed import FixedPriority\nclass MineHardware(FixedPriority): pass\n"
    with pytest.raises(CannotPredictError, match=r"^mine\.py has no class Mine in plain Python"):
        predicted("Mine", text)
