"""``metronome report``: what it writes, and how it refuses what it cannot use."""

import pytest

from metronome.scripts.cli import main
from tests.sim.studies.sweep.invented_results import invent
from tests.sim.studies.sweep.page_reader import Page

pytestmark = pytest.mark.slow

SMALL = 'preset = "TINY"\nkernel = "psort"\nsize = 8\nmode = "swas"\nissue = ["lrr", "gto"]\n'


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return invent(tmp_path / "results", SMALL, 1)


def refused(capsys, *arguments):
    """The line of complaint."""
    assert main(["report", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == 1 and lines[0].startswith("metronome: ")
    return lines[0]


def test_a_page_is_written_here(results, tmp_path, capsys):
    capsys.readouterr()
    assert main(["report", "results"]) == 0
    assert capsys.readouterr().out == "results.html: 3 figures, 3 tables\n"
    page = Page((tmp_path / "results.html").read_text("utf-8"))
    assert len(page.figures) == 3 and len(page.tables) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"results", "results.html"}


def test_a_comparison_is_written_where_it_is_asked_for(results, tmp_path, capsys):
    invent(tmp_path / "other", SMALL, 2)
    capsys.readouterr()
    assert main(["report", "results", "--diff", "other", "-o", "a.html"]) == 0
    assert capsys.readouterr().out == "a.html: 1 figure, 1 table\n"
    assert "compare-runs" in Page((tmp_path / "a.html").read_text("utf-8")).tables


def test_schemes_relative_to_one(results, tmp_path, capsys):
    capsys.readouterr()
    assert main(["report", "results", "--baseline", "lrr"]) == 0
    assert capsys.readouterr().out == "results.html: 4 figures, 4 tables\n"
    assert "relative" in Page((tmp_path / "results.html").read_text("utf-8")).figures


def test_bad_input_is_one_line(results, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    invent(tmp_path / "waiting", SMALL, 1, missing=(0, 1))
    invent(tmp_path / "saxpy", SMALL.replace("psort", "saxpy"), 1)
    capsys.readouterr()
    assert "cannot read sweep.json" in refused(capsys, "nothing")
    # So it is for results-paper beside results-paper-predict.
    assert refused(capsys, "result").strip().endswith("; there are results")
    assert "cannot read sweep.json" in refused(capsys, "empty")
    assert "cannot read sweep.json" in refused(capsys, "file")
    assert "no run has ended yet" in refused(capsys, "waiting")
    assert "cannot read sweep.json" in refused(capsys, "results", "--diff", "empty")
    assert "no run in common" in refused(capsys, "results", "--diff", "saxpy")
    assert refused(capsys, "results", "--baseline", "fifo").endswith(
        "--baseline fifo: there is no such scheme: name one of lrr, gto"
    )
    assert "leave out --diff" in refused(capsys, "results", "--diff", "saxpy", "--baseline", "lrr")
    assert "name its RESULTS" in refused(capsys, "--bounds", "file", "--baseline", "lrr")
    assert "--output: cannot write 'no/a.html'" in refused(capsys, "results", "-o", "no/a.html")
    assert "--output page.html: it would be among the results in results" in refused(
        capsys, "results", "-o", "results/runs/page.html"
    )
    assert "new.html: it would be among the results" in refused(capsys, "results", "-o", "results/runs/new.html")
    (tmp_path / "results" / "sweep.json").write_text("[]")
    assert "metronome sweep did not write it" in refused(capsys, "results")
    assert not list(tmp_path.glob("*.html"))


def test_a_broken_file_of_results_is_named(results, tmp_path, capsys):
    broken = next((tmp_path / "results" / "runs").glob("*.parquet"))
    broken.write_bytes(b"not a table")
    capsys.readouterr()
    assert f"{broken.relative_to(tmp_path)}: it cannot be read" in refused(capsys, "results")
