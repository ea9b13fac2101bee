"""Policies from files at the command line: what each command takes, and how it refuses what it lacks."""

import json
import re

import pytest

from metronome.scripts.cli import main
from metronome.sim.machine.policies.files import PolicyFileError
from metronome.tb.policies import disagreement
from tests.scripts.lines import only_line

PYTHON = """
from metronome.sim.machine.policies.base import Policy, lowest
class Mine(Policy):
    def reset(self): return 0
    def pick(self, state, inputs): return lowest(inputs.eligible)
    def update(self, state, inputs, picked): return state
"""
HARDWARE = """
from metronome.hdl.policies.fixed import FixedPriority
class MineHardware(FixedPriority): pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, own_policies):
    """The current folder, with files of policies."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"python": PYTHON, "hardware": HARDWARE, "both": PYTHON + HARDWARE}.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_a_run_says_which_policy_it_had(metronome, backend, folder):
    done = metronome("run", "psort", "--preset", "TINY", "--issue", "both.py", "--json", "-")
    config = json.loads(done.out)["config"]
    (name, file), = config["policy_files"].items()
    assert config["issue"] == name and config["policies"] == [name] and name.startswith("Mine_")
    assert file["file"] == str(folder / "both.py") and file["sha256"].startswith(name.removeprefix("Mine_"))


def test_a_policy_without_state_is_compared_too(folder):
    assert disagreement("both.py", cycles=200) is None
    (folder / "wrong.py").write_text(PYTHON.replace("return lowest(inputs.eligible)", "return None") + HARDWARE)
    found = disagreement("wrong.py", cycles=200)
    assert found.in_python is None and found.inputs.eligible >> found.in_hardware & 1
    first = f"cycle {found.cycle}: Python selects no warp, the hardware warp {found.in_hardware}"
    assert str(found).splitlines()[0] == first


def test_without_files_there_are_none(metronome, backend):
    done = metronome("run", "psort", "--preset", "TINY", "--json", "-")
    assert json.loads(done.out)["config"]["policy_files"] == {}


@pytest.mark.parametrize("command", [
    ("verilog", "--preset", "TINY", "--output", "x.v"), ("synth", "--preset", "TINY", "--unit", "scheduler", "--area"),
    ("prove", "--property", "P3", "--scheme", "swas", "--warps", "2"),
])
def test_the_hardware_is_missing(metronome, folder, command):
    done = metronome(*command, "--policy" if command[0] == "prove" else "--issue", "python.py")
    assert done.status == 2
    assert only_line(done.err).startswith("metronome: python.py has no class MineHardware for the hardware: write it")
    assert not (folder / "x.v").exists()


@pytest.mark.parametrize("option", ["--issue", "--fetch"])
@pytest.mark.parametrize("command", ["run", "trace", "sweep", "verilog"])
def test_a_file_that_is_not_there(metronome, folder, command, option):
    kernel = [] if command == "verilog" else ["psort"]
    output = {"trace": ["-o", "x.html"], "verilog": ["--output", "x.v"]}.get(command, [])
    done = metronome(command, *kernel, *output, "--mode", "baseline", option, "nix.py")
    assert done.status == 2 and only_line(done.err) == f"metronome: {option} nix.py: No such file or directory"


def test_new(metronome, folder, capsys):
    done = metronome("new", "--policy", "my_burst")
    assert done.status == 0 and "metronome predict psort --issue ./my_burst.py" in done.out
    text, test = (folder / "my_burst.py").read_text(), (folder / "test_my_burst.py").read_text()
    assert "class MyBurst(Policy[State]):" in text and "class MyBurstHardware(LastWarpPolicy):" in text
    assert 'with_name("my_burst.py")' in test and "ine.py" not in text + test.replace("my_burst.py", "")
    scope = {"__name__": "test_my_burst", "__file__": str(folder / "test_my_burst.py")}
    exec(test, scope)
    scope["test_both_classes_select_the_same_warps"]()
    (folder / "my_burst.py").write_text(text.replace("state.run < 3 and inputs", "state.run < 2 and inputs"))
    with pytest.raises(AssertionError) as difference:
        scope["test_both_classes_select_the_same_warps"]()
    assert "Python selects warp" in str(difference.value) and "State(last=" in str(difference.value)


@pytest.mark.parametrize(("name", "class_name"), [("state", "StatePolicy"), ("x9", "X9"), ("a__b_", "AB")])
def test_names_of_classes(metronome, folder, name, class_name):
    assert metronome("new", "--policy", name).status == 0
    assert f"class {class_name}(Policy[State]):" in (folder / f"{name}.py").read_text()


@pytest.mark.parametrize("name", ["3x", "class", "a-b", "a b", "", "é", "both"])
def test_names_that_are_refused(metronome, folder, name):
    before = sorted(folder.iterdir())
    done = metronome("new", "--policy", name)
    assert done.status == 2 and only_line(done.err).startswith("metronome: ") and sorted(folder.iterdir()) == before


def test_a_proof_needs_the_states(metronome, folder):
    done = metronome("prove", "--property", "P3", "--scheme", "swas", "--policy", "both.py", "--warps", "2")
    assert done.status == 2 and "needs its states: Mine has no method states" in only_line(done.err)


def test_there_is_no_bound_for_one(folder, capsys):
    assert main(["wcet", "vecadd", "--preset", "TINY", "--size", "4", "--issue", "both.py"]) == 2
    assert only_line(capsys.readouterr().err).startswith("metronome: vecadd: no bound for Mine_")


def test_an_error_in_the_class_for_the_hardware_is_one_line(folder, capsys):
    broken = HARDWARE.replace("    pass", "").replace(": pass", ":\n    def pick(self, state, inputs): return 1 / 0")
    (folder / "broken.py").write_text(PYTHON + broken)
    assert main(["verilog", "--preset", "TINY", "--issue", "broken.py", "--output", "x.v"]) == 2
    assert re.search(r"broken\.py, line \d+: ZeroDivisionError: division by zero", only_line(capsys.readouterr().err))
    assert not (folder / "x.v").exists()


def test_a_policy_that_idles_says_so(folder):
    idle = PYTHON.replace("return lowest(inputs.eligible)", "return lowest(inputs.eligible & 1)")
    hardware = HARDWARE.replace(": pass", ":\n    def pick(self, state, inputs): return inputs.eligible & 1\n")
    (folder / "idle.py").write_text(idle + hardware)
    with pytest.raises(PolicyFileError, match=r"needs idles = True"):
        disagreement("idle.py", cycles=100)
    (folder / "idle.py").write_text(idle + hardware + "    idles = True\n")
    assert disagreement("idle.py", cycles=100) is None
