"""The record of where a result comes from: what it says, and that every output has it."""

import ast
import getpass
import json
from pathlib import Path

import pytest
import typer

from metronome.hdl.presets import TINY
from metronome.scripts.cli import app, main
from metronome.sim.build import origin
from metronome.sim.build.sources import ROOT

SHA, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40


@pytest.fixture(autouse=True)
def another_command():
    yield
    origin.begin([])


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder of sources in place of ours."""
    monkeypatch.setattr(origin, "ROOT", tmp_path)
    origin.commit.cache_clear()
    origin.is_modified.cache_clear()
    yield tmp_path
    origin.commit.cache_clear()
    origin.is_modified.cache_clear()


LAYOUTS = {
    "a branch": {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{SHA}\n"},
    "packed": {".git/HEAD": "ref: refs/heads/a/b\n", ".git/packed-refs": f"# pack-refs\n{OTHER} refs/heads/b\n"
                                                                        f"{SHA} refs/heads/a/b\n^{OTHER}\n"},
    "no branch": {".git/HEAD": f"{SHA}\n"},
    "a worktree": {
        ".git": "gitdir: other/.git/worktrees/w\n", "other/.git/worktrees/w/HEAD": "ref: refs/heads/w\n",
        "other/.git/worktrees/w/commondir": "../..\n", "other/.git/refs/heads/w": f"{SHA}\n",
        "other/.git/HEAD": f"{OTHER}\n",
    },
    "a worktree, packed": {
        ".git": "gitdir: other/.git/worktrees/w\n", "other/.git/worktrees/w/HEAD": "ref: refs/heads/w\n",
        "other/.git/worktrees/w/commondir": "../..\n", "other/.git/packed-refs": f"{SHA} refs/heads/w\n",
    },
}


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
def test_the_commit_is_read_from_files(checkout, files):
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    assert origin.commit() == SHA


@pytest.mark.parametrize("files", [{}, {".git/HEAD": "ref: refs/heads/none\n"}, {".git": "no pointer"}], ids=str)
def test_sources_that_are_no_checkout(checkout, files, capsys, monkeypatch):
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    monkeypatch.setenv("PATH", "")
    assert (origin.commit(), origin.is_modified()) == (None, None)
    assert main(["--version"]) == 0
    said = capsys.readouterr()
    assert "commit unknown: not a git checkout" in said.out and said.err == ""


def test_without_git_nobody_knows_whether_the_sources_are_modified(checkout, monkeypatch):
    (checkout / ".git").mkdir()
    (checkout / ".git" / "HEAD").write_text(SHA)
    monkeypatch.setenv("PATH", str(checkout))
    assert (origin.commit(), origin.is_modified()) == (SHA, None)


def test_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    secret = tmp_path.parent / "elsewhere" / "secret.elf"
    origin.begin(["run", str(tmp_path / "mine" / "a.elf"), f"--arg={secret}", str(secret), "--preset", "TINY",
           "--load", f"0x20000={secret}", f"--cflags=-I{secret.parent} -DN=4"])
    origin.note_machine("TINY", TINY)
    origin.note_program("a.elf", b"\x01")
    record = origin.origin()
    assert record["command"] == (
        "metronome run mine/a.elf --arg=secret.elf secret.elf --preset TINY --load 0x20000=secret.elf "
        "'--cflags=-Ielsewhere -DN=4'"
    )
    assert [each["name"] for each in record["machines"] + record["programs"]] == ["TINY", "a.elf"]
    assert origin.origin() == record, "all outputs of a command have one record"
    text = json.dumps(record)
    assert str(tmp_path.parent) not in text and str(Path.home()) not in text
    assert getpass.getuser() not in json.dumps({name: record[name] for name in ("command", "platform")})
    origin.begin(["run"])
    origin.note_program("a.elf", b"\x02")
    assert origin.origin()["programs"] != record["programs"] and origin.origin()["machines"] == []


def test_who_has_made_what_is_read_back():
    record = origin.origin()
    assert origin.difference(record) is None
    assert origin.difference(record | {"date": "1999", "command": "another", "platform": "2"}) is None
    made_by = f"made by Metronome {record['version']}, commit ffffffffffff"
    assert made_by in origin.difference(record | {"commit": OTHER})
    assert "0.0.9" in origin.difference(record | {"version": "0.0.9"})
    assert origin.difference(None) is not None
    assert record["date"] in origin.line(record)
    assert origin.read_metadata(origin.metadata()) == record
    for nothing in (None, {}, {origin.METADATA: b"["}, {origin.METADATA: b"1"}):
        assert origin.read_metadata(nothing) is None


def trees(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_bytes())


def called(node):
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_every_command_writes_its_json_in_one_place():
    """So a new command has the record, too: nothing else of the command line can write JSON."""
    commands = typer.main.get_command(app).commands
    with_json = {name for name, command in commands.items() if "json_file" in {each.name for each in command.params}}
    known = {"run", "predict", "wcet", "analyze", "characterize", "sweep", "synth", "prove", "grade", "bench", "board"}
    assert known <= with_json
    others = [
        name for name, tree in trees("scripts") for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) in ("dump", "dumps") and name != "scripts/output/outputs.py"
    ]
    assert others == []


@pytest.mark.slow
def test_every_parquet_file_has_the_record():
    writers = []
    for name, tree in trees("sim", "scripts"):
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            made = [node for node in ast.walk(function) if isinstance(node, ast.Call)
                    and (called(node) == "ParquetWriter" or ast.unparse(node.func) in ("pq.write_table",
                                                                                      "parquet.write_table"))]
            if made:
                writers.append(name)
                assert "metadata()" in ast.unparse(function), f"{name}: {function.name}"
    assert sorted(writers) == [
        "scripts/commands/predicting.py", "sim/show/trace/tables.py", "sim/studies/sweep/results.py",
    ]


def test_every_page_has_the_record_at_its_foot():
    pages = sorted((ROOT / "sim").rglob("page.html.jinja"))
    assert len(pages) == 2
    assert pages == sorted((ROOT / "sim").rglob("*.html*"))
    assert all("{{ foot }}" in path.read_text().partition("<footer")[2] for path in pages)


def test_exports_do_not_say_when_they_were_made():
    """The same machine is the same bytes."""
    for name, tree in trees("hdl", "sim/build/export", "sim/fpga/board", "sim/fpga/synth"):
        names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not any(each.endswith("origin") for each in names), name
