"""Machines with several schedulers: what commands refuse, in one line."""

import json

import pytest

from metronome.scripts.cli import main
from metronome.sim.studies.sweep.results import Results
from tests.scripts.lines import only_line

TWO = ("--preset", "BASE", "--set", "schedulers=2")


@pytest.mark.parametrize(("arguments", "message"), [
    (("characterize", "--curves"), "--curves with schedulers=2: only the starting times of warps are measured"),
    (("synth", "--unit", "order"), "schedulers=2: --unit order knows only machines with one scheduler: leave it out"),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
def test_what_does_not_know_them_says_so(metronome, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = metronome(*arguments, *TWO, status=2)
    assert message in only_line(done.err)
    assert not list(tmp_path.iterdir())


def test_starting_times_by_scheduler(tmp_path, capsys):
    """Each scheduler starts its warps in order; with a memory of random latency, one may be earlier than the other."""
    words = ["characterize", *TWO, "--warps", "16", "--repeat", "8", "--html", str(tmp_path / "a.html"), "--json",
             str(tmp_path / "a.json")]
    orders = set()
    for memory in ("fixed", "random"):
        assert main([*words, "--memory", memory]) == 0
        starts = json.loads((tmp_path / "a.json").read_text())["starts"]
        cases = [starts[case]["starts"] for case in ("common", "exception") if starts[case] is not None]
        for times in cases:
            assert min(times) == 0
            assert all(times[p::2] == sorted(set(times[p::2])) for p in range(2))
        orders.add((memory, starts["common"]["runs"] == 8, len(cases)))
        out = capsys.readouterr().out
        assert f"{starts['common']['runs']} of 8 runs start their warps in the order of the common case" in out
        page = (tmp_path / "a.html").read_text()
        assert out.count("starting times of the warps,") == len(cases)
        assert ["(table 5)" in page, "another order (table 6)" in page] == [True, len(cases) == 2]
    assert orders == {("fixed", True, 1), ("random", False, 2)}


@pytest.mark.parametrize(("words", "reason"), [
    (("--issue", "srr"), "no bound for srr with several schedulers"),
    (("--set", "units=shared"), "no bound with units=shared and turns=alternate"),
    (("--set", "turns=older"), "no bound with units=slices and turns=older"),
])
def test_without_a_bound(words, reason, capsys):
    assert main(["wcet", "psort", *TWO, *words]) == 2
    assert reason in only_line(capsys.readouterr().err)


def test_an_exact_time_needs_no_bound(capsys):
    words = [*TWO, "--set", "units=shared", "--set", "turns=older", "--json", "-"]
    assert main(["wcet", "vecadd", *words]) == 0
    bound = json.loads(capsys.readouterr().out)
    assert main(["predict", "vecadd", *words]) == 0
    assert bound["exact"] and bound["bound"] == json.loads(capsys.readouterr().out)["total_cycles"]


def test_shares_are_those_of_all_issue_slots(capsys):
    assert main(["predict", "vecadd", *TWO, "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    issued = result["committed"] + result["nops"] + sum(result["stalls"].values())
    assert issued == 2 * result["cycles"]
    assert main(["predict", "vecadd", *TWO]) == 0
    table = capsys.readouterr().out
    (row,) = (line for line in table.splitlines() if "issue slots of 2 schedulers" in line)
    assert row.split()[-3:] == [str(issued), "100.0", "%"]
    (nops,) = (line for line in table.splitlines() if line.startswith("NOPs"))
    assert nops.split()[-2] == f"{100 * result['nops'] / issued:.1f}"


@pytest.mark.parametrize("words", [("vecadd", "--mode", "swas", "--preset", "BASE", "--size", "16"), ("mine.toml",)])
def test_a_sweep_takes_numbers_of_schedulers(metronome, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('kernel = "vecadd"\npreset = "BASE"\nsize = 16\nissue = "lrr"\n')
    done = metronome("sweep", *words, "--engine", "predict", "--schedulers", "1,2,4", "--output", "x")
    assert "passed      3" in " ".join(line.rstrip() + "\n" for line in done.out.splitlines())
    rows = Results(tmp_path / "x").table().to_pylist()
    assert [row["config.schedulers"] for row in rows] == [1, 2, 4]
    assert len({row["cycles"] for row in rows}) == 3
    refused = metronome("sweep", *words, "--schedulers", "1,3", "--output", "y", status=2)
    assert "schedulers must be 1, 2 or 4, not 3" in only_line(refused.err)
    assert not (tmp_path / "y").exists()


@pytest.mark.parametrize(("settings", "message"), [
    (("schedulers=3",), "schedulers must be 1, 2 or 4, not 3"),
    (("schedulers=4", "warps=6"), "warps must be a multiple of schedulers, 4, not 6"),
    (("schedulers=2", "channels=ordered", "channel_depth=8"), "channels must be none or free with several"),
    (("schedulers=2", "group_warps=4"), "group_warps must be 0 or a divisor of warps, 2, not 4"),
    (("schedulers=2", "rates=1+2+3"), "rates must be at most one for each warp, of which there are 2"),
])
def test_machines_that_cannot_be_built(metronome, settings, message):
    done = metronome("config", "--preset", "BASE", *(each for text in settings for each in ("--set", text)), status=2)
    assert message in only_line(done.err)

