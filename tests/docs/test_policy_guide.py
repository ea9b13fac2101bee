"""The guide to a new policy, followed step by step in a copy of the tree; its commands are run as they stand."""

import pytest

from tests.docs.pages import ROOT
from tests.docs.policy_guide import Tree, commands, section, steps

#: By subcommand: what the command has to say.
SAYS = {"prove": " proved", "verilog": "", "run": "passed", "sweep": "burst", "synth": "scheduler: "}
GIVEN = {arguments[0]: arguments for arguments in commands(section())}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return Tree(tmp_path_factory.mktemp("guide"))


def test_the_guide_has_every_step():
    assert [file for file, _ in steps(section())] == [
        "hdl/policies/burst.py", "hdl/policies/__init__.py", "sim/machine/policies/plain.py",
    ]
    assert set(GIVEN) == set(SAYS)


def test_the_copy_is_what_runs(tree):
    done = tree.python("-c", "import metronome.hdl.policies as p, metronome.sim.machine.policies.plain as q; "
                             "print(p.__file__, p.POLICIES['burst'].name, q.POLICIES['burst'].name)")
    assert done.stderr == ""
    assert done.stdout.split()[1:] == ["burst", "burst"]
    assert str(ROOT) not in done.stdout


def test_the_linter_accepts_it(tree):
    done = tree.python("-m", "ruff", "check", "hdl", "sim")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_hardware_and_reference_are_compared(tree):
    done = tree.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/hdl/policies", "-k", "burst and not 4")
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.long  # a proof, the Verilog of BASE, a build, and a run of the synthesis tools
@pytest.mark.parametrize("name", SAYS)
def test_commands(tree, name):
    follow(tree, name, SAYS[name])


def follow(tree, name, says):
    done = tree.metronome(*GIVEN[name])
    assert done.returncode == 0, done.stdout + done.stderr
    assert says in done.stdout
    if name == "verilog":
        assert "burst" in (tree.root / "burst.v").read_text("utf-8")
