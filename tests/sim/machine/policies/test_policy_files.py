"""Policies from files: what is loaded, under which name, and every file that is refused in one line."""

import hashlib
import os
import subprocess
import sys

import pytest

from metronome.hdl import policies as hardware
from metronome.hdl.config import SmConfig
from metronome.sim.build.sources import ROOT
from metronome.sim.machine.policies import plain
from metronome.sim.machine.policies.base import DeclaredInputs, PolicyInputs
from metronome.sim.machine.policies.files import PolicyFileError, is_file, load, loaded, require_python, require_same
from metronome.sim.machine.policies.hardware import require_hardware
from metronome.sim.machine.schemes import check_scheme
from metronome.sim.machine.settings import ConfigError, policy_of, replaced

PYTHON = """
from metronome.sim.machine.policies.base import Policy, lowest
class {name}(Policy):
    def reset(self): return 0
    def pick(self, state, inputs): return lowest(inputs.eligible)
    def update(self, state, inputs, picked): return state
"""
HARDWARE = """
from metronome.hdl.policies.fixed import FixedPriority
class {name}Hardware(FixedPriority):
    pass
"""


@pytest.fixture
def write(tmp_path, monkeypatch, own_policies):
    """A function that writes texts to a file here; returns the file's name."""
    monkeypatch.chdir(tmp_path)

    def written(*texts, file="mine.py", name="Mine"):
        (tmp_path / file).write_text("".join(text.replace("{name}", name) for text in texts))
        return file

    return written


@pytest.mark.parametrize(("text", "expected"), [
    ("mine.py", True), ("./mine.py:Mine", True), ("a/b.py:C", True), ("x.PY", False), ("lrr", False), ("./mine", True),
])
def test_what_names_a_file(text, expected):
    assert is_file(text) is expected


@pytest.mark.parametrize("text", ["mine.py", "./mine.py", "mine.py:Mine", "mine.py:MineHardware"])
def test_a_policy_has_the_name_of_its_class_and_content(write, tmp_path, text):
    path = tmp_path / write(PYTHON, HARDWARE)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    name = load(text)
    assert name == f"Mine_{digest[:8]}" == load(str(path))
    assert plain.POLICIES[name].name == hardware.POLICIES[name].name == name
    assert not plain.from_outside(name) and not hardware.from_outside(name)
    (file,) = loaded([name, "lrr"]).values()
    assert file.as_json() == {"file": str(path), "class": "Mine", "sha256": digest}
    path.write_text(path.read_text() + "# edited\n")
    assert load(text) != name


def test_it_is_a_policy_of_a_machine(write):
    write(PYTHON, HARDWARE)
    config = SmConfig()
    name = check_scheme(config, issue="mine.py").issue
    assert replaced(config, {"policies": ["lrr", "./mine.py"]}).policies == ("lrr", name)
    assert check_scheme(config, mode="baseline", fetch="./mine.py", issue="lrr").fetch == name
    assert policy_of("--issue", "LRR") == "lrr"
    with pytest.raises(ConfigError, match=r"^--issue: unknown name 'lr'"):
        policy_of("--issue", "lr")


@pytest.mark.parametrize(("texts", "lacks"), [((PYTHON,), require_hardware), ((HARDWARE,), require_python)])
def test_one_class_is_enough_for_those_who_need_no_other(write, texts, lacks):
    write(*texts)
    name = load("mine.py")
    for require in (require_hardware, require_python):
        argument = SmConfig(policies=(name,)) if require is require_hardware else name
        if require is lacks:
            with pytest.raises(PolicyFileError, match=r"^mine\.py has no class Mine[^\n]*: write it[^\n]*$"):
                require(argument)
        else:
            require(argument)
    require_hardware(SmConfig())
    require_python("lrr")


REFUSED = {
    "not there": (None, "nix.py", r"nix\.py: No such file or directory"),
    "a folder": (None, "./", r"\./: a policy's file is written FILE\.py or FILE\.py:CLASS"),
    "syntax": ("def f(:", "mine.py", r"mine\.py, line 1: SyntaxError: invalid syntax"),
    "no Python": ("\0", "mine.py", r"mine\.py: (SyntaxError|ValueError): source code string cannot contain null bytes"),
    "raises": ("\n1 / 0", "mine.py", r"mine\.py, line 2: ZeroDivisionError: division by zero"),
    "ends Python": ("raise SystemExit(0)", "mine.py", r"mine\.py, line 1: SystemExit: 0"),
    "beside it": ("import another_file_here", "mine.py", r"mine\.py, line 1: ModuleNotFoundError: .*a policy is one"),
    "nothing": ("x = 1", "mine.py", r"mine\.py has no policy: metronome new --policy mine writes"),
    "two": (PYTHON + PYTHON.replace("{name}", "Other"), "mine.py",
            r"mine\.py has Mine, Other: name one .* mine\.py:Mine"),
    "no hardware": (PYTHON, "mine.py:MineHardware", r"mine\.py has no policy MineHardware: it has Mine"),
    "a thread or program": ("import os\nos.system('true')", "mine.py",
                            r"mine\.py, line 2: PermissionError: it starts a thread or a program"),
    "hash of text": ("hash('a')", "mine.py", r"mine\.py, line 1: TypeError: hash of text differs between processes"),
    "another": (PYTHON, "mine.py:Nix", r"mine\.py has no policy Nix: it has Mine"),
    "lacks": ("from metronome.sim.machine.policies.base import Policy\nclass Mine(Policy): pass", "mine.py",
              r"mine\.py: class Mine lacks pick, reset, update"),
    "its name": (HARDWARE.replace("{name}Hardware", "Mine"), "mine.py",
                 r"mine\.py: class Mine is a policy for the hardware: call it MineHardware"),
    "its name, too": (PYTHON.replace("{name}", "MineHardware"), "mine.py",
                      r"mine\.py: class MineHardware is a policy in plain Python: call it Mine"),
    "reads": (PYTHON + "    reads = ('eligable',)", "mine.py",
              r"mine\.py: Mine\.reads has 'eligable': it can have eligible"),
}


@pytest.mark.parametrize(("content", "text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_one_line(write, content, text, message):
    if content is not None:
        write(content)
    with pytest.raises(PolicyFileError, match=rf"^{message}[^\n]*$"):
        load(text)


def test_a_pipe_is_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("mine.py")
    with pytest.raises(PolicyFileError, match=r"^mine\.py: is not a regular file$"):
        load("mine.py")


def test_a_name_that_begins_with_a_tilde_is_a_name(write, tmp_path):
    write(PYTHON)
    (tmp_path / "mine.py").rename(tmp_path / "~mine.py")
    assert load("./~mine.py").startswith("Mine_")


def test_a_base_class_is_no_policy(write):
    write(PYTHON.replace("{name}", "_Base"), "class Mine(_Base): pass\n")
    assert load("mine.py").startswith("Mine_")


def test_another_process_loads_what_has_not_changed(write, tmp_path):
    write(PYTHON)
    name = load("mine.py")
    text = loaded([name])[name].text
    require_same({name: text})  # here it is there already
    plain.POLICIES.pop(name)
    require_same({name: text})
    write(PYTHON, "# edited\n")
    with pytest.raises(PolicyFileError, match="the file has changed while it was in use"):
        require_same({"Mine_00000000": text})


def test_inputs_that_are_not_declared_are_not_seen():
    seen = DeclaredInputs(PolicyInputs(eligible=5, active=7, change=0x0100_0003), ("active", "change"))
    assert (seen.eligible, seen.active, seen.change >> 24) == (5, 7, 1)
    with pytest.raises(AttributeError, match="reads lacks 'lanes'"):
        _ = seen.lanes


def test_a_process_that_has_imported_nothing_loads_the_template(tmp_path):
    """It imports what a policy needs while the policy is loaded: these files may be opened."""
    skeleton = (ROOT / "tb" / "skeleton" / "policy.py").read_text()
    (tmp_path / "mine.py").write_text(skeleton)
    program = "from metronome.sim.machine.policies.files import load; print(load('mine.py'))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "" and done.stdout.startswith("Mine_")
