"""docs/experiments.md: its experiment, its commands and its program, as a reader types them."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from metronome.scripts.cli import main
from metronome.sim.studies.sweep.results import Results
from metronome.sim.studies.sweep.spec import _AXES, NAMED, find_spec
from tests.docs.pages import ROOT
from tests.support.builds import on

PAGE = (ROOT / "docs" / "experiments.md").read_text("utf-8")
FILES = dict(re.findall(r"This is `([\w.]+)`:\n\n```\w+\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
OWN, CLUSTER = PAGE.split("## An experiment of your own")[1].split("## On a cluster")


def commands(text):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for language, block in blocks if not language for line in block.strip().split("\n")]


def test_every_axis_is_named():
    rows = PAGE.split("| options | |\n|---|---|\n")[1].split("\n\n")[0].split("\n")
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])} == set(_AXES)


@pytest.mark.slow
def test_the_table_of_experiments_has_their_runs():
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", PAGE, re.MULTILINE)
    assert {name: int(runs) for name, runs in rows} == {name: len(find_spec(name).runs) for name in NAMED}


@on("TINY")
@pytest.mark.long
def test_the_commands_and_the_program(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert set(FILES) == {"mine.toml", "compare.py"}
    for name, text in FILES.items():
        Path(name).write_text(text)
    for line in commands(OWN):
        program, *words = shlex.split(line)
        assert program == "metronome"
        assert main(words) == 0, f"{line}\n{capsys.readouterr().err}"
    assert Results.open(Path("results-short")).table().num_rows == 2
    assert "<figure" in Path("results-mine.html").read_text() and "<figure" in Path("compared.html").read_text()
    capsys.readouterr()
    runpy.run_path("compare.py")
    printed = capsys.readouterr().out
    table = Results.open(Path("results-mine")).table().to_pylist()
    assert len(table) == 18 and all(row["passed"] for row in table)
    cycles = {row["config.issue"]: row["cycles"] for row in table
              if (row["kernel"], row["config.memory"]) == ("vecadd", "dram")}
    wanted = [f"{cycles[issue] / cycles['lrr']:.3f}" for issue in ("gtlo", "gtlrr", "lrr")]
    (line,) = [line for line in printed.splitlines() if re.search(r"vecadd +32 +dram", line)]
    assert line.split()[-3:] == wanted
