"""``metronome predict``: the same as run says, every issue in a file, and what it refuses."""

import csv
import json

import pyarrow.parquet
import pytest

from metronome.hdl.isa.ops import Unit
from metronome.scripts.cli import main
from metronome.sim.predict import setup
from tests.support.builds import TINY, on

VECADD = ["vecadd", "--preset", "TINY", "--size", "8"]


def predicted(capsys, *arguments):
    status = main(["predict", *arguments, "--json", "-"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_it_says_what_run_says(capsys):
    status, document = predicted(capsys, *VECADD)
    assert (status, document["passed"], document["config"]["engine"], document["stepped"]) == (0, True, "predict", None)
    assert document["total_cycles"] > document["cycles"] > document["committed"] > 0
    warps = document["warps"]
    # Everything that a warp did in the region is in one of its numbers.
    for warp in warps:
        others = (warp["instructions"], warp["nops"], warp["not_selected"], warp["inactive"])
        assert sum(others) + sum(warp["stalls"].values()) == document["cycles"]
    assert max(warp["finish"] for warp in warps) < document["total_cycles"]


@pytest.mark.slow
def test_every_issue_is_written(tmp_path, capsys):
    for name in ("issues.csv", "issues.parquet"):
        assert main(["predict", *VECADD, "--issues", str(tmp_path / name)]) == 0
    assert "prediction" in capsys.readouterr().out
    with (tmp_path / "issues.csv").open() as file:
        rows = list(csv.DictReader(file))
    table = pyarrow.parquet.read_table(tmp_path / "issues.parquet").to_pylist()
    assert rows == [{name: "" if value is None else str(value) for name, value in row.items()} for row in table]
    # The buffers begin with NOPs; the first instruction is that of the start address.
    assert rows[0]["pc"] == "" and next(row["pc"] for row in rows if row["pc"]) == str(0x8000_0000)


@on("TINY")
@pytest.mark.slow
def test_hardware_and_prediction_are_compared(capsys):
    status, document = predicted(capsys, *VECADD, "--verify")
    assert (status, document["mismatches"], document["mismatching_cycles"]) == (0, [], 0)
    assert document["first_mismatch"] is None
    assert main(["predict", *VECADD, "--verify"]) == 0
    assert capsys.readouterr().out.endswith("\nhardware and prediction agree in every cycle\n")


@on("TINY")
@pytest.mark.slow
def test_a_difference_is_reported(capsys, monkeypatch):
    wrong = dict(setup.unit_latencies(TINY))
    wrong[Unit.MUL] += 1
    monkeypatch.setattr(setup, "unit_latencies", lambda config: wrong)
    status, document = predicted(capsys, *VECADD, "--verify")
    first = document["first_mismatch"]
    assert (status, first["unit"]) == (1, "the writeback") and document["mismatching_cycles"] > 0
    assert main(["predict", *VECADD, "--verify"]) == 1
    assert f"differ: cycle {first['cycle']}: the writeback disagrees" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "complaint"), [
    (["--mode", "baseline"], "only swas can be predicted, not baseline"),
    (["--issues", "issues.txt"], "--issues: the name of the file must end in .csv or .parquet"),
    (["--issues", "no/such/issues.csv"], "--issues: cannot write 'no/such/issues.csv'"),
    (["--check"], "No such option: --check"),
    (["--verify", "--mode", "vortex"], "only swas can be predicted, not vortex"),
    (["--verify", "--set", "probe=false"], "--verify needs the probe"),
    (["--issues", "-.csv", "--json", "-.csv"], "--json: cannot write '-.csv'"),
])
def test_what_it_refuses(arguments, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["predict", *VECADD, *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and complaint in err and err.count("\n") == 1


@pytest.mark.more
@on("GPU")
def test_several_sms(tmp_path, capsys):
    issues = tmp_path / "issues.csv"
    status, document = predicted(capsys, *VECADD[:-1], "16", "--sms", "4", "--issues", str(issues), "--verify")
    assert (status, document["config"]["engine"], document["stepped"]) == (0, "predict", None)
    assert document["mismatches"] == [] and document["first_mismatch"] is None and len(document["sms"]) == 4
    with issues.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["cycle"], row["sm"]) for row in rows[:4]] == [("1", "0"), ("1", "1"), ("1", "2"), ("1", "3")]
    issued = [sum(row["sm"] == str(sm) and row["pc"] != "" for row in rows) for sm in range(4)]
    assert all(mine > each["committed"] > 0 for mine, each in zip(issued, document["sms"], strict=True))
