"""Names of files as users type them, for every option of every subcommand that takes one: one line, and no work."""

import pytest
import typer.main

from metronome.scripts.cli import COMMANDS, app

pytestmark = pytest.mark.slow

#: What stands before the option.
NEEDED = {name: ["psort"] for name in ("run", "predict", "wcet", "analyze", "trace", "build", "sweep", "board")}
NEEDED |= {"report": ["results"], "grade": ["mine.py"], "synth": ["--unit", "alu"]}
FILES = ("FILE", "FOLDER", "DIR")


def file_options():
    commands = typer.main.get_command(app).commands
    assert set(commands) == set(COMMANDS)
    for command, about in commands.items():
        for parameter in about.params:
            if parameter.param_type_name == "option" and any(word in (parameter.metavar or "") for word in FILES):
                for option in parameter.opts:
                    yield pytest.param(command, option, parameter.metavar, id=f"{command} {option}")


OPTIONS = list(file_options())


def call(metronome, command, option, metavar, name):
    before, _, _ = metavar.rpartition("=")
    value = {"": "", "PLACE": "result=", "ADDR": "0x1000="}[before] + name
    return metronome(command, *NEEDED.get(command, ()), option, value)


@pytest.mark.parametrize("name", ["x.docx", "there/x.PNG"])
@pytest.mark.parametrize(("command", "option", "metavar"), OPTIONS)
def test_a_name_that_promises_what_is_not_written(metronome, backend, tmp_path, command, option, metavar, name):
    (tmp_path / "there").mkdir()
    done = call(metronome, command, option, metavar, name)
    assert (done.status, done.out, len(done.err.splitlines()), backend.runs) == (2, "", 1, [])
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


@pytest.mark.parametrize(("command", "option", "metavar"), [
    case for case in OPTIONS if case.values[2] != "FOLDER"  # a sweep makes the whole path
])
def test_a_folder_that_is_not_there(metronome, backend, tmp_path, command, option, metavar):
    done = call(metronome, command, option, metavar, "nowhere/deeper/x")
    assert (done.status, done.out, len(done.err.splitlines()), backend.runs) == (2, "", 1, [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("command", "option", "metavar"), [
    case for case in OPTIONS if case.values[1] != "--json" and case.values[2] != "DIR|FILE.v"
])
def test_standard_output_is_no_file_of_that_name(metronome, tmp_path, command, option, metavar):
    done = call(metronome, command, option, metavar, "-")
    assert done.status == 0 or (done.status == 2 and len(done.err.splitlines()) == 1 and done.out == "")
    assert not (tmp_path / "-").exists()
