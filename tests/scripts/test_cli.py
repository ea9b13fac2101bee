"""The command line around `run`: the other subcommands, and the errors that all share."""

import json
import os
import subprocess
import sys

import pytest

from metronome.hdl.presets import BASE, PRESETS, TINY
from metronome.scripts.cli import COMMANDS
from metronome.sim.build.sources import ROOT


@pytest.mark.parametrize("arguments", [(), ("--help",), *((name, "--help") for name in COMMANDS)])
def test_help_is_status_0(metronome, arguments):
    done = metronome(*arguments)
    assert (done.status, done.err) == (0, "")
    assert "Usage: metronome" in done.out


@pytest.mark.parametrize("name", ["characterise", "unknown", "--unknown"])
def test_an_unknown_subcommand_is_one_line(metronome, name):
    done = metronome(name)
    assert (done.status, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert name in line


def test_an_interrupt_is_one_line_and_status_130(metronome, backend):
    backend.error = KeyboardInterrupt()
    done = metronome("run", "psort")
    assert (done.status, done.err, done.out) == (130, "metronome: interrupted\n", "")


def test_a_defect_is_one_line_unless_the_traceback_is_wanted(metronome, backend, monkeypatch):
    monkeypatch.delenv("METRONOME_TRACEBACK", raising=False)
    backend.error = IndexError("list index out of range")
    done = metronome("run", "psort", status=70)
    (line,) = done.err.splitlines()
    assert "IndexError: list index out of range" in line
    monkeypatch.setenv("METRONOME_TRACEBACK", "1")
    with pytest.raises(IndexError):
        metronome("run", "psort")


def test_the_module_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "metronome.scripts.cli", "run", "--latency", "0"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "metronome: --latency must be at least 1, not 0\n"


def test_kernels(metronome):
    assert "psort" in metronome("kernels").out
    value = json.loads(metronome("kernels", "--json", "-").out)
    assert value == [{"name": "psort", "types": ["int32"], "sizes": {"default": 64, "max": 1024}, "about": "sorts",
                      "folder": None}]


def test_a_broken_kernel_is_a_line_beside_the_others(metronome, backend):
    backend.broken = ["kernel ./mine is broken and left out: mine/host.py:3: NameError"]
    done = metronome("kernels", "--json", "-")
    assert (done.status, done.err) == (0, f"metronome: {backend.broken[0]}\n")
    assert [kernel["name"] for kernel in json.loads(done.out)] == ["psort"]


def test_verilog_is_without_the_probe_unless_asked(metronome, backend):
    done = metronome("verilog", "--preset", "TINY")
    assert (done.status, done.out, done.err) == (0, "module metronome_sm;\nendmodule\n", "")
    assert metronome("verilog", "--probe").status == 0
    synthesis, simulation = backend.verilog_configs
    assert synthesis.warps == TINY.warps
    assert (synthesis.probe, synthesis.assertions, synthesis.oracles) == (False, False, False)
    assert simulation == BASE


def test_verilog_of_one_policy(metronome, backend):
    assert metronome("verilog", "--issue", "gtlo").status == metronome("verilog", "--issue", "icount").status == 0
    assert [config.policies for config in backend.verilog_configs] == [("gtlo",), ("icount",)]
    assert metronome("verilog", "--issue", "other").status == 2


def test_verilog_to_a_file(metronome, tmp_path):
    done = metronome("verilog", "--output", "sm.v", "--json", "-")
    assert (tmp_path / "sm.v").read_text() == "module metronome_sm;\nendmodule\n"
    value = json.loads(done.out)
    assert (value["lines"], value["bytes"], value["config"]["warps"]) == (2, 31, 4)


@pytest.mark.parametrize("arguments", [
    ("--output", "missing/sm.v"), ("--json", "-"), ("--warps", "0"), ("--output", "sm.v", "--json", "./sm.v"),
    ("--json", "/dev/stdout"), ("--output", "/dev/stdout", "--json", "-"),
])
def test_verilog_refuses_before_it_elaborates(metronome, backend, arguments):
    assert metronome("verilog", *arguments).refusal
    assert backend.verilog_configs == []


def test_bench_reports_medians(metronome, backend, monkeypatch):
    seconds = iter([1.0, 0.1, 0.5])

    def run(config, request, progress, console):
        backend.runs.append((config, request))
        backend.update(sim_seconds=next(seconds))
        return backend.result

    monkeypatch.setattr(backend, "run", run)
    value = json.loads(metronome("bench", "--preset", "TINY", "--json", "-").out)
    assert set(value["presets"]) == {"TINY"}
    figure = value["presets"]["TINY"]
    assert figure["cycles_per_second"] == pytest.approx(700 / 0.5)
    assert (figure["elaborate_seconds"], figure["build_seconds"]) == (4.0, 20.0)
    assert value["iss_instructions_per_second"] == 2e6
    assert [request.check for _, request in backend.runs] == [False] * 3
    assert [request.memory for _, request in backend.runs] == ["fixed"] * 3


def test_bench_of_another_kernel_and_memory(metronome, backend, monkeypatch):
    prepare = backend.prepare
    monkeypatch.setattr(backend, "prepare", lambda name, *values: prepare("psort", *values))
    backend.update(python_seconds=0.2)
    done = metronome("bench", "--kernel", "sgemm", "--memory", "dram", "--preset", "TINY", "--json", "-")
    value = json.loads(done.out)
    assert {name: value[name] for name in ("kernel", "memory", "latency")} == {
        "kernel": "sgemm", "memory": "dram", "latency": None,
    }
    assert value["sizes"] == {"TINY": 16}
    assert value["presets"]["TINY"]["python_share"] == pytest.approx(0.2 / 0.5)
    assert {request.memory for _, request in backend.runs} == {"dram"}


def test_bench_of_predictions(metronome, backend):
    """Each begins anew with the golden model; the speed is that of the same run."""
    done = metronome("bench", "--predict", "--json", "-", "--repeat", 2)
    value = json.loads(done.out)
    assert done.status == 0 and list(value["presets"]) == ["PAPER"]
    assert list(value["presets"]["PAPER"]) == ["fixed", "dram"] and value["memories"]["fixed"] == 20
    for figure in value["presets"]["PAPER"].values():
        assert figure["ratio"] == pytest.approx(10) and figure["same"] is True
        assert figure["predicted_cycles_per_second"] == pytest.approx(10 * figure["cycles_per_second"])
    assert backend.predicted == [False] * 4
    assert [request.memory for _, request in backend.runs] == ["fixed"] * 4 + ["dram"] * 4
    one = json.loads(metronome("bench", "--predict", "--memory", "tdm", "--preset", "TINY", "--json", "-").out)
    assert {name: list(each) for name, each in one["presets"].items()} == {"TINY": ["tdm"]}
    assert "10.0  the same" in metronome("bench", "--predict", "--repeat", 1).out


def test_bench_does_not_praise_a_wrong_prediction(metronome, backend):
    backend.other = {"counters": backend.result.counters | {"nops": 41}}
    done = metronome("bench", "--predict", "--repeat", 1)
    assert done.status == 1 and "NOT THE SAME" in done.out


def test_bench_measures_base_unless_asked_for_more(metronome, backend):
    assert metronome("bench", "--repeat", 1).status == 0
    assert [config for config, _ in backend.runs] == [BASE]


@pytest.mark.parametrize("arguments", [("--preset", "TINY,base,MID,paper"),
                                       ("--preset", "TINY", "--preset", "BASE,MID,PAPER")])
def test_bench_measures_presets_and_prints_a_table(metronome, backend, arguments):
    done = metronome("bench", "--repeat", 1, *arguments, status=0)
    names = ("TINY", "BASE", "MID", "PAPER")
    assert [config for config, _ in backend.runs] == [PRESETS[name] for name in names]
    assert all(name in done.out for name in names)


def test_bench_does_not_report_the_speed_of_a_wrong_result(metronome, backend):
    backend.problems = ["target[0] is 1, not 0"]
    done = metronome("bench", "--preset", "BASE", "--json", "-")
    assert (done.status, done.out) == (1, "")
    assert "target[0] is 1" in done.err


@pytest.mark.parametrize("before", [None, "somewhere"])
def test_a_cold_bench_builds_in_an_empty_cache_and_leaves_the_other_alone(metronome, backend, monkeypatch, before):
    if before is None:
        monkeypatch.delenv("METRONOME_CACHE", raising=False)
    else:
        monkeypatch.setenv("METRONOME_CACHE", before)
    seen = []

    def run(config, request, progress, console):
        seen.append((os.environ["METRONOME_CACHE"], os.listdir(os.environ["METRONOME_CACHE"])))
        return backend.result

    monkeypatch.setattr(backend, "run", run)
    assert metronome("bench", "--preset", "TINY", "--repeat", 1, "--cold").status == 0
    ((folder, entries),) = seen
    assert (entries, os.path.exists(folder)) == ([], False)
    assert os.environ.get("METRONOME_CACHE") == before


@pytest.mark.parametrize(
    "arguments", [("--preset", "HUGE"), ("--repeat", "0"), ("--latency", 2**64 - 1), ("--json", "missing/a"),
                  ("--memory", "core"), ("--kernel", "vecadd")]
)
def test_bench_refuses_bad_use(metronome, backend, arguments):
    assert metronome("bench", *arguments).refusal
    assert backend.runs == []
