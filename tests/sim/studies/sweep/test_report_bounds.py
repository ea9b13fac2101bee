"""The report's section of bounds: every number of it is that of a document."""

import json

import pytest

from metronome.scripts.cli import main
from metronome.sim.studies.sweep.report.page import render, report
from tests.sim.studies.sweep.invented_bounds import bound
from tests.sim.studies.sweep.invented_results import OWN, invent
from tests.sim.studies.sweep.page_reader import Page, figure_problems

pytestmark = pytest.mark.slow


def test_the_table_has_each_bound(bounds):
    page, _, documents = bounds
    lines = page.tables["bounds-table"].lines()
    assert len(lines) == len(documents)
    for line, document in zip(lines, documents, strict=True):
        assert line[0].startswith(f"{document['kernel']}, {document['config']['size']}")
        assert float(line[2]) == document["bound"] and line[3] == ("yes" if document["exact"] else "no")
        if not document["exact"]:
            assert (float(line[4]), float(line[5])) == (document["observed_max"], document["ratio"])
        assert [float(each) for each in line[-2:]] == [document["bound"] - 100, 100]
    assert "source=0..9" in lines[-1][0]


def test_the_figure_has_bound_and_longest_run(bounds):
    page, _, documents = bounds
    expected = {
        "psort, 64, {lrr}, bound": 46_000, "psort, 64, {lrr}, longest run": 33_000,
        "psort, 64, {srr}, bound": 40_000, "psort, 64, {srr}, longest run": 36_000,
        "vecadd, 64, {lrr}, exact": 3_088,
        "kmeans, 32, {lrr}, bound": 9_000, "kmeans, 32, {lrr}, longest run": 9_001,
        "psort, 64, {lrr} (2), bound": 41_000, "psort, 64, {lrr} (2), longest run": 33_000,
        "psort, 64, source=0..9, {lrr}, bound": 31_000, "psort, 64, source=0..9, {lrr}, longest run": 30_000,
    }
    machines = {policy: f"4 x 4, {policy}, btfn, fixed" for policy in ("lrr", "srr")}
    expected = {name.format(**machines): cycles for name, cycles in expected.items()}

    def panel(key):
        return key.partition(", 4 x 4")[0]

    assert not figure_problems(page.figures["bounds-cycles"], expected, per_panel=panel)
    assert len(documents) == 6


def test_beside_the_results_of_a_sweep(tmp_path):
    results = invent(tmp_path / "results", OWN, 1)
    page = Page(render(report(results, [bound("psort", 8, "lrr", 900, 800)])))
    assert len(page.tables["bounds-table"].lines()) == 1 and "all-runs" in page.tables
    assert "bounds-table" not in Page(render(report(results))).tables


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(bound("psort", 8, "lrr", 900, 800)))
    assert main(["report", "--bounds", "a.json"]) == 0
    assert "bounds.html: 1 figure, 1 table" in capsys.readouterr().out
    (tmp_path / "b.json").write_text('{"kernel": 1}')
    (tmp_path / "c.json").write_text("cycles")
    for arguments, words in (
        ((), "name the RESULTS of a sweep, or the files of bounds"),
        (("--bounds", "b.json"), "b.json holds no bound"), (("--bounds", "c.json"), "c.json: not JSON"),
        (("--bounds", "d.json"), "d.json"), (("x", "--diff", "y", "--bounds", "a.json"), "leave out --diff"),
        (("--bounds", "a.json", "-o", "a.json"), "a.json"),
    ):
        assert main(["report", *arguments]) == 2
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1
