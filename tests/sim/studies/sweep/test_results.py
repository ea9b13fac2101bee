"""A folder of results: a row a run, whole or not there, in the order that was asked for."""

import json
import multiprocessing
import subprocess
import sys

import pyarrow.parquet
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.studies.sweep.record import Run
from metronome.sim.studies.sweep.results import Results, ResultsError
from metronome.sim.studies.sweep.rows import failed_row, schema

ABOUT = {"name": "mine", "title": "Mine", "about": "", "spec": "", "runs": {"one": "1", "two": "2", "three": "3"}}


def row(key, status="fault"):
    """Of a run that has been simulated, unless ``status`` is error."""
    run = Run(kernel="psort", config=TINY, issue="lrr", dtype="int32", size=4)
    return failed_row(run, key, "no such kernel") | {"status": status}


def test_rows_come_back_in_the_order_of_the_sweep(tmp_path):
    results = Results(tmp_path / "new" / "results")
    assert results.begin(ABOUT) == set()
    for key in ("three", "one"):
        results.add(row(key))
    assert results.table()["run"].to_pylist() == ["one", "three"]
    assert results.begin(ABOUT) == {"one", "three"}


def test_what_could_not_be_simulated_is_done_again(tmp_path):
    results = Results(tmp_path)
    results.begin(ABOUT)
    results.add(row("one", "error"))
    results.add(row("two"))
    assert results.done(ABOUT) == results.begin(ABOUT) == {"two"}
    results.add(row("one"))
    assert results.done(ABOUT) == {"one", "two"}


def test_pandas_reads_the_folder_of_runs(tmp_path):
    results = Results(tmp_path)
    results.begin(ABOUT)
    results.add(row("one"))
    import pandas
    table = pandas.read_parquet(tmp_path / "runs")
    assert list(table.columns) == schema().names
    assert table.loc[0, "reason"] == "no such kernel" and not table.loc[0, "passed"]
    assert table.loc[0, "config.issue"] == "lrr" and table.loc[0, "config.size"] == 4


_THREADS = """
import os, sys
from pathlib import Path
from metronome.sim.studies.sweep.results import Results
results = Results.open(Path(sys.argv[1]))
before = len(os.listdir("/proc/self/task"))
results.table(), results.origins()
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.more
def test_reading_leaves_no_thread_that_could_abort_the_end_of_python(tmp_path):
    """One run in ten of such threads did: "terminate called without an active exception", after the sweep's table."""
    results = Results(tmp_path)
    results.begin(ABOUT)
    results.add(row("one"))
    done = subprocess.run([sys.executable, "-c", _THREADS, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


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
    results.add(row("zero"))
    fewer = ABOUT | {"runs": {"zero": "0"}}
    assert results.done(fewer, forget=True) == {"zero"}
    assert results.table()["run"].to_pylist() == ["zero", "two"], "asking changes nothing"
    assert results.begin(fewer, forget=True) == {"zero"} and results.done(fewer) == {"zero"}


def test_a_sweep_that_was_killed_at_its_start_begins_again(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / ".sweep.json.part").write_text('{"for')
    assert Results(tmp_path).begin(ABOUT) == set()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "sweep.json"]


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ResultsError, match="it contains other files"):
        Results(tmp_path).begin(ABOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("text", [
    None, "no JSON", "[]", json.dumps({"format": 99}), json.dumps({"format": 1}),
    json.dumps({"format": 1} | ABOUT | {"runs": ["one"]}), json.dumps({"format": 1} | ABOUT | {"title": 3}),
])
def test_what_is_no_folder_of_results(tmp_path, text):
    if text is not None:
        (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(ResultsError):
        Results.open(tmp_path)


def _cut(path):
    path.write_bytes(path.read_bytes()[:2000])


def _folder(path):
    path.unlink()
    path.mkdir()


def _of_another_run(path):
    path.write_bytes(path.with_name("one.parquet").read_bytes())


def _without_a_row(path):
    pyarrow.parquet.write_table(schema().empty_table(), path)


def _other_columns(path):
    pyarrow.parquet.write_table(pyarrow.table({"run": ["two"]}), path)


@pytest.mark.parametrize(("damage", "message"), [
    (lambda path: path.write_bytes(b""), "it cannot be read"), (_cut, "it cannot be read"),
    (_folder, "it cannot be read"), (_of_another_run, "it is not the result of its run"),
    (_without_a_row, "it is not the result of its run"), (_other_columns, "it is not the result of its run"),
])
def test_a_damaged_row_is_named_and_nothing_is_run(tmp_path, damage, message):
    results = Results(tmp_path)
    results.begin(ABOUT)
    for key in ("one", "two"):
        results.add(row(key))
    damage(tmp_path / "runs" / "two.parquet")
    for use in (results.table, lambda: results.begin(ABOUT), lambda: results.done(ABOUT)):
        with pytest.raises(ResultsError, match=rf"two\.parquet: {message}") as refusal:
            use()
        assert "\n" not in str(refusal.value)


def _hold(folder, held, over):
    with Results(folder).locked():
        held.set()
        over.wait(30)


@pytest.mark.slow
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
