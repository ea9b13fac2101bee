"""The command line around `run`: the other subcommands, and the errors that all share."""

import dataclasses
import json
import subprocess
import sys

import pytest

from metronome.hdl.presets import BASE, PIPELINES, TINY
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
    assert simulation == dataclasses.replace(BASE, **PIPELINES["fpga"])


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
