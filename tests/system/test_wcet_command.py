"""``metronome wcet`` on the command line."""

import json
from types import SimpleNamespace

import pytest

from metronome.scripts.cli import main


@pytest.fixture
def metronome(capsys, tmp_path, monkeypatch):
    """Call the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        status = main(list(arguments))
        captured = capsys.readouterr()
        return SimpleNamespace(status=status, out=captured.out, err=captured.err)

    return call


def test_exact_and_bound(metronome, tmp_path):
    document = tmp_path / "wcet.json"
    run = metronome("wcet", "vecadd", "--preset", "TINY", "--json", str(document))
    assert run.status == 0 and "every run takes exactly" in run.out
    exact = json.loads(document.read_text())
    assert exact["exact"] and exact["bound"] == sum(exact["composition"].values())
    assert exact["depends_on_inputs"] == [] and "observed_max" not in exact
    run = metronome(
        "wcet", "psort", "--preset", "TINY", "--size", "8", "--observe", "3", "--no-rtl", "--json", str(document)
    )
    assert run.status == 0 and "every run takes at most" in run.out
    bound = json.loads(document.read_text())
    assert not bound["exact"] and bound["observed_runs"] == 3 and bound["ratio"] >= 1
    (place,) = bound["depends_on_inputs"]
    assert place["kind"] == "address" and "kernel.c:" in place["place"]
    assert {"implicit paths", "work-conserving"} <= {each["method"] for each in bound["composers"]}
    assert all(each["held_by"] for each in bound["assumptions"])


def test_a_range(metronome, tmp_path):
    document = tmp_path / "wcet.json"
    options = ("--preset", "TINY", "--size", "8", "--range", "source=0..9", "--json", str(document))
    run = metronome("wcet", "psort", *options, "--observe", "3", "--no-rtl")
    assert run.status == 0
    bound = json.loads(document.read_text())
    assert bound["ranges"] == ["source=0..9"] and bound["ratio"] >= 1
    assert bound["assumptions"][0] == {"text": "the inputs are in the range source=0..9", "held_by": "the user"}


def test_refusals_are_one_line(metronome):
    for arguments, words in (
        (("psort", "--memory", "dram"), "no bound of its own"),
        (("psort", "--mode", "baseline"), "only swas"),
        (("psort", "--observe", "-1"), "--observe must be at least 0"),
        (("psort", "--range", "sauce=1..2"), "no buffer or variable is named 'sauce'"),
        (("psort", "--memory-bound", "0"), "--memory-bound must be at least 1"),
    ):
        run = metronome("wcet", *arguments, "--preset", "TINY")
        assert run.status == 2
        assert words in run.err and run.err.count("\n") == 1
