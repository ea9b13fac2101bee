"""A folder of results: a row a run, whole or not there, in the order that was asked for."""

import json
import multiprocessing

import pandas
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.experiments.record import Run
from metronome.sim.experiments.results import Results, ResultsError
from metronome.sim.experiments.rows import failed_row, schema

ABOUT = {"name": "mine", "title": "Mine", "about": "", "spec": "", "runs": {"one": "1", "two": "2", "three": "3"}}


def row(key, reason="no such kernel"):
    return failed_row(Run(kernel="psort", config=TINY, issue="lrr", dtype="int32", size=4), key, reason)


def test_rows_come_back_in_the_order_of_the_sweep(tmp_path):
    results = Results(tmp_path / "new" / "results")
    assert results.begin(ABOUT) == set()
    for key in ("three", "one"):
        results.add(row(key))
    assert results.table()["run"].to_pylist() == ["one", "three"]
    assert results.begin(ABOUT) == {"one", "three"}


def test_pandas_reads_the_folder_of_runs(tmp_path):
    results = Results(tmp_path)
    results.begin(ABOUT)
    results.add(row("one"))
    table = pandas.read_parquet(tmp_path / "runs")
    assert list(table.columns) == schema().names
    assert table.loc[0, "reason"] == "no such kernel" and not table.loc[0, "passed"]
    assert table.loc[0, "config.issue"] == "lrr" and table.loc[0, "config.size"] == 4


def test_what_a_killed_sweep_has_left_is_no_row(tmp_path):
    results = Results(tmp_path)
    results.begin(ABOUT)
    left = tmp_path / "runs" / ".two.parquet.part"
    left.write_bytes(b"half")
    assert results.table().num_rows == 0
    assert results.begin(ABOUT) == set() and not left.exists()


def test_results_of_another_sweep_are_not_touched(tmp_path):
    results = Results(tmp_path)
    results.begin(ABOUT)
    results.add(row("two"))
    before = (tmp_path / "sweep.json").read_text()
    with pytest.raises(ResultsError, match="1 of its 1 results are of another sweep"):
        results.begin(ABOUT | {"runs": {"one": "1"}})
    assert (tmp_path / "sweep.json").read_text() == before
    assert results.begin(ABOUT | {"runs": {"zero": "0", "two": "2"}}) == {"two"}, "a sweep may grow"


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ResultsError, match="there are other files in it"):
        Results(tmp_path).begin(ABOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("text", [None, "no JSON", "[]", json.dumps({"format": 99})])
def test_what_is_no_folder_of_results(tmp_path, text):
    if text is not None:
        (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(ResultsError):
        Results.open(tmp_path)


def test_a_damaged_row_is_named(tmp_path):
    results = Results(tmp_path)
    results.begin(ABOUT)
    (tmp_path / "runs" / "two.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(ResultsError, match=r"two\.parquet: it cannot be read"):
        results.table()


def _hold(folder, held, over):
    with Results(folder).locked():
        held.set()
        over.wait(30)


def test_one_sweep_at_a_time(tmp_path):
    context = multiprocessing.get_context("spawn")
    held, over = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(tmp_path, held, over))
    other.start()
    try:
        assert held.wait(30)
        with pytest.raises(ResultsError, match="another metronome sweep is writing there"), Results(tmp_path).locked():
            pass
    finally:
        over.set()
        other.join()
    with Results(tmp_path).locked():
        pass
