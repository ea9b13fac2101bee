"""Policies from files at the command line: what each command takes, and how it refuses what it lacks."""

import dataclasses
import json
import re
from types import SimpleNamespace

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.scheduler import Scheduler
from metronome.hdl.presets import TINY
from metronome.scripts.cli import main
from metronome.scripts.commands.predicting import slow_policy
from metronome.scripts.options.schemes import listed_policies
from metronome.scripts.process.errors import UsageError
from metronome.sim.build.simulator import BuildError, require_simulated
from metronome.sim.machine.policies.files import PolicyFileError, load
from metronome.sim.machine.policies.hardware import require_hardware
from metronome.tb.formal.flow import Proof
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


@pytest.mark.parametrize(("asked", "cycles", "seconds", "slow"), [
    (0, 10**6, 9, False), (2048, 20_000, 2, False), (20_000, 20_000, 0.5, False), (20_000, 20_000, 2, True),
    (400_000, 10**7, 9, False), (10**6, 10**7, 9, False), (10**6, 10**7, 40, True),
])
def test_a_note_says_that_a_policy_was_slow(asked, cycles, seconds, slow):
    result = SimpleNamespace(total_cycles=cycles, sim_seconds=seconds, cycles_per_second=cycles / seconds)
    note = slow_policy(SimpleNamespace(asked=asked, result=result, reason="it reads lanes"), "Mine")
    assert (note is not None) is slow
    assert note is None or note.endswith("which is slow: it reads lanes")


def test_without_files_there_are_none(metronome, backend):
    done = metronome("run", "psort", "--preset", "TINY", "--json", "-")
    assert json.loads(done.out)["config"]["policy_files"] == {}


@pytest.mark.parametrize("command", [
    ("verilog", "--preset", "TINY", "--output", "x.v"), ("synth", "--preset", "TINY", "--unit", "scheduler", "--area"),
    ("prove", "--property", "P3", "--scheme", "swas", "--warps", "2"),
    ("board", "--output", "x.v"),
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


def test_a_list_of_files_with_commas_in_their_names(folder):
    (folder / "a,b").mkdir()
    (folder / "a,b" / "c,d.py").write_text(PYTHON)
    assert listed_policies("--issue", "a,b/c,d.py:Mine") == ["a,b/c,d.py:Mine"]
    assert listed_policies("--issue", "lrr,a,b/c,d.py, both.py,lrr") == ["lrr", "a,b/c,d.py", "both.py"]
    assert listed_policies("--issue", "lrr,nix.py") == ["lrr", "nix.py"]
    with pytest.raises(UsageError, match="empty name"):
        listed_policies("--issue", "lrr,,gto")


@pytest.mark.more
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


@pytest.mark.parametrize(("name", "class_name"), [
    ("state", "StatePolicy"), ("LastWarpPolicy", "LastWarpPolicyPolicy"), ("x9", "X9"), ("a__b_", "AB"),
])
def test_names_of_classes(metronome, folder, name, class_name):
    assert metronome("new", "--policy", name).status == 0
    assert f"class {class_name}(Policy[State]):" in (folder / f"{name}.py").read_text()


@pytest.mark.parametrize("name", [
    "3x", "class", "a-b", "a b", "", "é", "both", "_", "_mine", "numpy", "random", "metronome",
])
def test_names_that_are_refused(metronome, folder, name):
    before = sorted(folder.iterdir())
    done = metronome("new", "--policy", name)
    assert done.status == 2 and only_line(done.err).startswith("metronome: ") and sorted(folder.iterdir()) == before


def test_a_proof_leaves_out_what_needs_the_states(folder, monkeypatch, capsys):
    proved = []
    monkeypatch.setattr("metronome.tb.formal.flow.prove", lambda case: proved.append(case) or Proof(
        case, "induction", 1, 0.0, "pass"))
    assert main(["prove", "--scheme", "swas", "--policy", "both.py", "--prediction", "btfn", "--warps", "2,4"]) == 0
    assert {case.property for case in proved} == {"P1", "P2", "P4", "P5", "P7"} and len(proved) == 10
    left_out, other = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"metronome: note: left out: P3 of Mine_\w+ needs its states: Mine has no method states .*",
                        left_out)
    assert other == "metronome: note: left out: P6 is a property of lrr"


def test_a_proof_needs_the_states(metronome, folder):
    done = metronome("prove", "--property", "P3", "--scheme", "swas", "--policy", "both.py", "--warps", "2")
    assert done.status == 2 and "needs its states: Mine has no method states" in only_line(done.err)


STATES = """
    def states(self): return {states}
    def registers(self, state): return {registers}
"""
NO_REFERENCE = {
    "an unknown register": ("[0]", "{'nix': 1}", "registers names 'nix', which the class for the hardware does not"),
    "no hash": ("[{}]", "{}", "TypeError: unhashable type: 'dict'"),
    "without reset": ("[1]", "{}", "reset returns 0, which states leaves out"),
    "without end": ("__import__('itertools').count()", "{}", "a table of 16388 rows or more, of 4096 at most"),
    "raises": ("1 / 0", "{}", "mine.py, line 7: ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize(("states", "registers", "message"), NO_REFERENCE.values(), ids=NO_REFERENCE)
def test_what_cannot_be_a_reference_is_one_line(metronome, folder, states, registers, message):
    (folder / "mine.py").write_text(PYTHON + STATES.format(states=states, registers=registers).lstrip("\n") + HARDWARE)
    done = metronome("prove", "--property", "P3", "--scheme", "swas", "--policy", "mine.py", "--warps", "2")
    assert done.status == 2 and message in only_line(done.err)


def test_there_is_no_bound_for_one(folder, capsys):
    assert main(["wcet", "vecadd", "--preset", "TINY", "--size", "4", "--issue", "both.py"]) == 2
    assert only_line(capsys.readouterr().err).startswith("metronome: vecadd: no bound for Mine_")


def test_an_error_in_the_class_for_the_hardware_is_one_line(folder, capsys):
    broken = HARDWARE.replace("    pass", "").replace(": pass", ":\n    def pick(self, state, inputs): return 1 / 0")
    (folder / "broken.py").write_text(PYTHON + broken)
    assert main(["verilog", "--preset", "TINY", "--issue", "broken.py", "--output", "x.v"]) == 2
    expected = r"broken\.py, line \d+: class MineHardware: ZeroDivisionError: division by zero"
    assert re.search(expected, only_line(capsys.readouterr().err))
    assert not (folder / "x.v").exists()


IN_HARDWARE = """
from amaranth.hdl import Cat
from metronome.hdl.policies.base import LastWarpPolicy, pick_after
class MineHardware(LastWarpPolicy):
    def pick(self, state, inputs):
        return {pick}
    def update(self, m, state, inputs, *, selected):
        m.d.{domain} += {driven}.eq(selected)
    def state_reset(self):
        return {{"last": {reset}}}
"""
RIGHT = {"pick": "pick_after(state.last, inputs.eligible)", "domain": "sync", "driven": "state.last", "reset": "1"}
NO_HARDWARE = {
    "nothing": ({"pick": "None"}, ": class MineHardware: pick returned None, and must return a vector"),
    "a number": ({"pick": "1"}, ": class MineHardware: pick returned a value of width 1, and must return one bit for"),
    "too wide": ({"pick": "Cat(inputs.eligible, inputs.active)"}, ": class MineHardware: pick returned a value of"),
    "another clock": ({"domain": "fast"}, ": class MineHardware: DomainError: Domain 'fast' is used but not defined"),
    "a loop": ({"domain": "comb"}, ": class MineHardware: CombinationalCycle: Combinational cycle detected"),
    "drives an input": ({"driven": "inputs.active"}, ": class MineHardware: DriverConflict"),
    "reset": ({"reset": "4"}, ": class MineHardware: the reset value of last, 4, has more than 2 bits"),
    "lost": ({"pick": "pick_after(state.last, inputs.eligible & ~inputs.lost)"},
             ": class MineHardware reads lost, which only a build with ccws has"),
}


@pytest.mark.parametrize(("wrong", "message"), NO_HARDWARE.values(), ids=NO_HARDWARE)
def test_what_is_no_hardware_is_refused(metronome, folder, wrong, message):
    (folder / "bad.py").write_text(PYTHON + IN_HARDWARE.format(**RIGHT | wrong))
    done = metronome("verilog", "-o", "x.v", "--preset", "TINY", "--mode", "baseline", "--fetch", "bad.py")
    assert done.status == 2 and only_line(done.err).startswith(f"metronome: {folder / 'bad.py'}{message}")
    assert not (folder / "x.v").exists()
    with pytest.raises(BuildError, match=r"class MineHardware"):
        require_simulated(dataclasses.replace(TINY, policies=(load("bad.py"),)))


def test_what_is_hardware_is_accepted(folder):
    (folder / "good.py").write_text(IN_HARDWARE.format(**RIGHT))
    require_hardware(SmConfig(policies=(load("good.py"),), policy_csr=True))
    reads_lost = RIGHT | NO_HARDWARE["lost"][0]
    (folder / "lost.py").write_text(IN_HARDWARE.format(**reads_lost))
    require_hardware(SmConfig(policies=(load("lost.py"), "ccws")))


def test_what_a_policy_prints_goes_to_standard_error(folder, capsys):
    """When it is loaded, when its hardware is elaborated, and while it is compared."""
    text = PYTHON.replace("return lowest", "print('pick'); return lowest") + IN_HARDWARE.format(**RIGHT)
    (folder / "loud.py").write_text("print('load')\nimport sys\nsys.stdout.write('written')\n"
                                    + text.replace("return pick_after", "print('hardware'); return pick_after"))
    config = SmConfig(warps=2, policies=(load("loud.py"),))
    require_hardware(config)
    Scheduler(config).elaborate(None)
    disagreement("loud.py", cycles=5, warps=2)
    out, err = capsys.readouterr()
    assert out == "" and {"load", "written", "hardware", "pick"} <= set(re.findall("load|written|hardware|pick", err))


WRONG_PICKS = {
    "no warp": ("return 7", r"cycle 0: ValueError: pick returned 7, which is no eligible warp \(eligible: none, so "),
    "raises": ("return 1 / 0", r"line 5: class Mine, cycle 0: ZeroDivisionError: division by zero"),
    "not declared": ("return inputs.lanes", r"class Mine, cycle 0: AttributeError: reads lacks 'lanes'"),
    "changes": ("inputs.eligible = 0", r"class Mine, cycle 0: AttributeError: eligible is an input"),
}


@pytest.mark.parametrize(("pick", "message"), WRONG_PICKS.values(), ids=WRONG_PICKS)
def test_a_comparison_tells_what_is_wrong_in_python(folder, pick, message):
    (folder / "bad.py").write_text(PYTHON.replace("return lowest(inputs.eligible)", pick) + HARDWARE)
    with pytest.raises(PolicyFileError, match=rf"^{re.escape(str(folder))}/bad\.py[^\n]*{message}[^\n]*$"):
        disagreement("bad.py", cycles=5)


@pytest.mark.parametrize("pick", ["inputs.eligible", "inputs.active"])
def test_a_comparison_tells_what_is_wrong_in_hardware(folder, pick):
    (folder / "bad.py").write_text(PYTHON + IN_HARDWARE.format(**RIGHT | {"pick": pick}))
    with pytest.raises(PolicyFileError, match=r"^bad\.py: in cycle \d+ the hardware selects \{[\d, ]+\}, and may"):
        disagreement("bad.py", cycles=100)


@pytest.mark.parametrize(("field", "hardware"), [("lost", "inputs.lost.any()"), ("change", "inputs.change.value != 0")])
def test_a_comparison_drives_what_is_read(folder, field, hardware):
    """With lost or change the two classes differ."""
    python = PYTHON.replace("    def reset", f"    reads = ('eligible', '{field}')\n    def reset")
    for used, differs in (("0", False), (hardware, True)):
        pick = f"Mux({used}, 0, lowest_one(inputs.eligible))"
        text = IN_HARDWARE.format(**RIGHT | {"pick": pick}).replace("import Cat", "import Cat, Mux")
        (folder / "two.py").write_text(python + "from metronome.hdl.lib.onehot import lowest_one\n" + text
                                       + "    idles = True\n")
        assert (disagreement("two.py", cycles=400) is not None) is differs


def test_a_policy_that_idles_says_so(folder):
    idle = PYTHON.replace("return lowest(inputs.eligible)", "return lowest(inputs.eligible & 1)")
    hardware = HARDWARE.replace(": pass", ":\n    def pick(self, state, inputs): return inputs.eligible & 1\n")
    (folder / "idle.py").write_text(idle + hardware)
    with pytest.raises(PolicyFileError, match=r"needs idles = True"):
        disagreement("idle.py", cycles=100)
    (folder / "idle.py").write_text(idle + hardware + "    idles = True\n")
    assert disagreement("idle.py", cycles=100) is None
