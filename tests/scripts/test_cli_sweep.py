"""``metronome sweep``: which runs it makes of its lists, in which builds, and what it shows."""

import dataclasses
import json

import pytest


def pairs(backend):
    return [
        (config.coordination, request.fetch_policy, request.policy, config.prediction)
        for config, request in backend.runs
    ]


def test_every_combination_and_swas_once_for_all_fetch_policies(metronome, backend):
    arguments = ("--mode", "baseline,swas", "--fetch", "lrr,gtlo", "--issue", "lrr,gtlrr", "--prediction", "btfn")
    assert metronome("sweep", "psort", *arguments).status == 0
    baseline = [("baseline", fetch, issue, "btfn") for fetch in ("lrr", "gtlo") for issue in ("lrr", "gtlrr")]
    assert pairs(backend) == baseline + [("swas", None, issue, "btfn") for issue in ("lrr", "gtlrr")]


def test_without_lists_the_paper_s_comparison(metronome, backend):
    assert metronome("sweep", "psort").status == 0
    issues = ("lrr", "gtlrr", "gtlo")
    assert pairs(backend) == [("baseline", "lrr", i, "btfn") for i in issues] + [
        ("swas", None, i, "btfn") for i in issues
    ]


def test_policies_that_are_asked_for_together_share_a_build(metronome, backend):
    metronome("sweep", "psort", "--mode", "swas,vortex", "--issue", "gto,lrr", "--prediction", "not_taken,btfn")
    configs = {config for config, _ in backend.runs}
    assert len(backend.runs) == 8 and len(configs) == 4
    assert {config.policies for config in configs} == {("gto", "lrr")}
    assert {config.fetch_policies for config in configs} == {(), ("fixed",)}


def test_the_table(metronome):
    """500 cycles, 1500 thread-instructions, 40 NOPs, 70 discrepancies, 25 errors (conftest)."""
    lines = metronome("sweep", "psort", "--mode", "baseline", "--issue", "lrr").out.splitlines()
    (row,) = [line for line in lines if "baseline" in line]
    assert row.split() == [
        "baseline", "lrr", "lrr", "btfn", "500", "3.0000", "1.000", "8.00", "%", "14.00", "%", "5.00", "%",
    ]
    assert max(len(line) for line in lines) <= 80


def test_the_predicted_table(metronome, backend):
    done = metronome("sweep", "psort", "--engine", "predict", "--issue", "lrr,gto")
    assert done.status == 0 and ", predicted" in done.out
    assert pairs(backend) == [("swas", None, "lrr", "btfn"), ("swas", None, "gto", "btfn")]
    assert backend.predicted == [True, True]
    value = json.loads(metronome("sweep", "psort", "--engine", "PREDICT", "--json", "-").out)
    assert {run["config"]["engine"] for run in value["runs"]} == {"predict"}
    assert {run["config"]["engine"] for run in json.loads(metronome("sweep", "psort", "--json", "-").out)["runs"]} == {
        "rtl"}


@pytest.mark.parametrize(("arguments", "message"), [
    (("--engine", "rlt"), "--engine: unknown name 'rlt' (did you mean rtl?)"),
    (("--engine", "predict", "--mode", "swas,baseline"), "it cannot be predicted"),
    (("--engine", "predict", "--check"), "it cannot be predicted"),
    (("--engine", "predict", "--forecast"), "--forecast needs a run on the hardware: leave out --engine"),
    (("--forecast", "--set", "probe=false"), "--forecast needs the probe: leave out --set probe=false"),
])
def test_what_cannot_be_predicted_is_refused_before_anything_runs(metronome, backend, arguments, message):
    done = metronome("sweep", "psort", *arguments)
    assert (done.status, backend.runs) == (2, [])
    assert done.err.startswith(f"metronome: {message}") and len(done.err.splitlines()) == 1


def test_the_table_with_forecasts(metronome, backend):
    """500 cycles; the forecast says 400."""
    lines = metronome("sweep", "psort", "--mode", "baseline", "--issue", "lrr", "--forecast").out.splitlines()
    (row,) = [line for line in lines if "baseline" in line]
    assert row.split()[4:] == ["500", "3.0000", "400", "-20.00", "%", "25.00", "%", "50.00", "%"]
    assert max(len(line) for line in lines) <= 85
    value = json.loads(metronome("sweep", "psort", "--forecast", "--json", "-").out)
    assert {run["forecast"]["cycles"] for run in value["runs"]} == {400}


def test_json_holds_every_run(metronome):
    value = json.loads(metronome("sweep", "psort", "--mode", "swas", "--json", "-").out)
    assert value["kernel"] == "psort"
    assert [run["config"]["issue"] for run in value["runs"]] == ["lrr", "gtlrr", "gtlo"]
    assert all(run["cycles"] == 500 for run in value["runs"])


def test_a_bad_run_is_told_and_is_the_status(metronome, backend):
    backend.problems = ["element 3 is 4, not 5"]
    done = metronome("sweep", "psort", "--mode", "swas", "--issue", "lrr,gtlo", status=1)
    lines = [line for line in done.err.splitlines() if "element 3 is 4, not 5" in line]
    assert [line.split(":")[1].strip() for line in lines] == ["swas lrr btfn", "swas gtlo btfn"]


def test_a_run_that_failed_is_no_reference(metronome, backend, monkeypatch):
    """The first of three reaches the cycle limit: the second is what the third is compared with."""
    results = [dataclasses.replace(backend.result, status="hang", counters=dict(backend.result.counters))]
    run = backend.run

    def first_hangs(*arguments):
        done = run(*arguments)
        return results.pop() if results else done

    monkeypatch.setattr(backend, "run", first_hangs)
    done = metronome("sweep", "psort", "--mode", "swas")
    rows = [line.split() for line in done.out.splitlines() if "swas" in line]
    assert done.status == 4
    assert [row[4:7] for row in rows] == [["cycle_limit"], ["500", "3.0000", "1.000"], ["500", "3.0000", "1.000"]]


@pytest.mark.parametrize("arguments", [
    ("--mode", "baseline,else"), ("--issue", "lrr,,gtlo"), ("--issue", "newest"), ("--fetch", "newest"),
    ("--mode", "swas", "--fetch", "lrr"), ("--prediction", "gshare"), ("--memory", "core"), ("--size", "0"),
    ("--timing", "DDR4_2400R"), ("--memory", "dram", "--memory-clock", "x"),
])
def test_bad_use_is_one_line(metronome, backend, arguments):
    done = metronome("sweep", "psort", *arguments, status=2)
    assert len(done.err.splitlines()) == 1 and done.err.startswith("metronome: ")
    assert not backend.runs


def test_every_run_has_the_memory_that_was_asked_for(metronome, backend):
    done = metronome("sweep", "psort", "--memory", "dram", "--memory-clock", "2", "--mode", "swas", status=0)
    assert "dram, DDR4_2400R, clock ratio 2" in done.out
    assert {(request.memory, request.memory_options.clock) for _, request in backend.runs} == {("dram", 2)}


def test_the_ipc_of_the_table_is_that_of_the_json(metronome):
    done = metronome("sweep", "psort", "--mode", "baseline", "--issue", "lrr")
    (row,) = [line for line in done.out.splitlines() if "baseline" in line]
    (run,) = json.loads(metronome("sweep", "psort", "--mode", "baseline", "--issue", "lrr", "--json", "-").out)["runs"]
    assert float(row.split()[5]) == run["ipc"] == run["committed_threads"] / run["cycles"]
    assert "IPC: thread-instructions per cycle" in done.out


@pytest.mark.parametrize(("command", "option", "value"), [
    (command, option, value) for command in ("sweep", "run", "predict") for option, value in (
        ("--preset", "TINY,BASE"), ("--size", "16,32"), ("--seed", "1,2"), ("--memory", "fixed,dram"),
        ("--latency", "1,20"), ("--type", "int32,float32"), ("--warps", "2,4"), ("--threads", "2,4"),
    )
])
def test_a_list_is_refused_with_what_takes_one(metronome, backend, command, option, value):
    done = metronome(command, "psort", option, value)
    assert (done.status, done.out, len(done.err.splitlines()), backend.runs) == (2, "", 1, [])
    wanted = f"--set {option[2:]}={value}" if option in ("--warps", "--threads") else "docs/experiments.md"
    assert option in done.err and wanted in done.err
