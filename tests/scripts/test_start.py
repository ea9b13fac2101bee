"""What a command does not need it does not import: that is most of the time of a short one."""

import importlib
import inspect
import os
import subprocess
import sys
import tomllib

import pytest
import typer

from metronome.scripts.cli import COMMANDS, app
from metronome.scripts.options.records import command
from metronome.scripts.process.backend import Backend
from metronome.sim.build.simulator import build
from metronome.sim.build.sources import ROOT
from metronome.sim.program.kernels import prepare
from tests.scripts.conftest import FakeBackend
from tests.scripts.lines import only_line
from tests.support.builds import TINY, on

#: Carries out a command line; says which modules it has imported, and at which process it started numpy was there.
WATCHED = """
import os, sys
from metronome.scripts.entry import main
def hook(event, arguments):
    if event == "subprocess.Popen":
        print("started", "numpy" in sys.modules, os.path.basename(arguments[1][-1]), file=sys.stderr)
sys.addaudithook(hook)
status = main()
print("modules", *sys.modules, file=sys.stderr)
sys.exit(status)
"""
PACKAGE = "metronome.scripts.commands."


def watched(*words):
    environ = os.environ | {"COLUMNS": "80"}
    done = subprocess.run([sys.executable, "-c", WATCHED, *words], capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr
    *started, modules = (line.split()[1:] for line in done.stderr.splitlines())
    return set(modules), started


def subcommands(modules):
    return {name for name in COMMANDS if PACKAGE + name in modules}


def test_the_page_of_all_subcommands_imports_none():
    modules, _ = watched("--help")
    assert subcommands(modules) == set()
    assert not {"numpy", "pydantic", "rich.markdown", "rich.traceback", "importlib.metadata", "amaranth"} & modules


@pytest.mark.parametrize("name", ["verilog", "cache"])
def test_the_page_of_a_subcommand_imports_no_other(name):
    modules, _ = watched(name, "--help")
    assert subcommands(modules) == {name}
    assert not {"numpy", "pydantic", "rich.markdown"} & modules


@on("TINY")
def test_a_run_starts_the_simulation_before_it_imports_numpy():
    prepare("vecadd", size=4)  # into the cache
    executable = build(TINY).executable
    modules, started = watched("run", "vecadd", "--preset", "TINY", "--size", "4")
    assert subcommands(modules) == {"run"}
    unwanted = {"pydantic", "amaranth", "cocotb", "elftools", "pyarrow", "pytest", "rich.progress"}
    assert not unwanted & modules
    assert ["False", executable.name] in started and ["True", executable.name] not in started


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_all_has_the_first_lines_of_the_docstrings(name):
    function = getattr(importlib.import_module(PACKAGE + name), name)
    assert COMMANDS[name] == inspect.getdoc(function).partition("\n")[0]


def test_no_subcommand_imports_another():
    """The contract that `make lint` checks names them all."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (independent,) = (each["modules"] for each in contracts if each["id"] == "subcommands")
    assert sorted(independent) == sorted(PACKAGE + name for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_subcommand_has_a_parameter_that_two_records_name(name):
    """Nor more than eight of its own: what belongs together is a record."""
    function = getattr(importlib.import_module(PACKAGE + name), name)
    assert len(inspect.signature(function).parameters) <= 8
    names = [parameter.name for parameter in typer.main.get_command(app).commands[name].params]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", [name for name in vars(FakeBackend) if name in vars(Backend) and name[0] != "_"])
def test_the_stand_in_of_these_tests_is_called_as_the_backend_is(name):
    mine, real = (inspect.signature(getattr(each, name)).parameters for each in (FakeBackend, Backend))
    assert [(each.name, each.kind) for each in mine.values()] == [(each.name, each.kind) for each in real.values()]


def taker(number: int = 1, wanted: bool = False, names: list[str] | None = None) -> int:
    """Take values of each plain type."""
    print([number, wanted, names])
    return 0


@pytest.mark.parametrize(("words", "taken"), [
    ([], "[1, False, None]"), (["--number", "-12"], "[-12, False, None]"), (["--number", "007"], "[7, False, None]"),
    (["--number", "1_0"], "[10, False, None]"), (["--number", " 3 "], "[3, False, None]"),
    (["--wanted", "--names", "a", "--names", "b"], "[1, True, ['a', 'b']]"),
])
def test_plain_values_are_what_typer_makes_of_them(capsys, words, taken):
    made = command("taker", taker, "")
    usual = typer.Typer(add_completion=False)
    usual.command()(taker)
    for each in (made, typer.main.get_command(usual)):
        assert each.main(words, standalone_mode=False) == 0
        assert only_line(capsys.readouterr().out) == taken


def test_what_is_no_number_is_typers_message(metronome):
    assert only_line(metronome("run", "psort", "--warps", "many").err) == (
        "metronome: Invalid value 'many' for '--warps': Input should be a valid integer, unable to parse string as an"
        " integer (see metronome run --help)"
    )
