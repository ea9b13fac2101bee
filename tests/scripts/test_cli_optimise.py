"""`metronome build --optimise`: what reaches the builder, what it prints, and what it is not for."""

import json
from pathlib import Path

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.build.simulator import Build, BuildError
from metronome.sim.studies.sweep import execute


@pytest.fixture
def built(backend, monkeypatch):
    """The configurations that are built; the first one is made, the others are there."""
    configs = []

    def build_by_profile(config, progress):
        configs.append(config)
        return Build(Path("metronome_top"), 0.0, 12.4 if len(configs) == 1 else 0.0)

    monkeypatch.setattr(backend, "build_by_profile", build_by_profile, raising=False)
    return configs


def test_a_machine_is_built_for_many_runs(metronome, built):
    first = metronome("build", "--optimise", "--preset", "TINY", "--set", "latency_mul=5")
    assert first.status == 0 and [config.latency_mul for config in built] == [5]
    assert first.out == (
        "TINY, latency_mul=5 (2 warps x 2 threads, swas, btfn, lrr gtlrr gtlo): built by its profile in 12 s; every "
        "command that simulates this machine uses it\n"
    )
    again = metronome("build", "--optimise", "--preset", "TINY", "--json", "-")
    assert built[1] == TINY
    document = json.loads(again.out)
    assert (document["build_seconds"], document["elaborate_seconds"]) == (0.0, 0.0)
    about = {"preset": "TINY", "config_file": None, "set": {}, "warps": 2, "threads": 2, "coordination": "swas"}
    assert about.items() <= document["config"].items()


@pytest.mark.parametrize("options", [
    (), ("--issue", "gto"), ("--mode", "baseline", "--fetch", "gtlo"), ("--prediction", "not_taken"),
])
def test_it_is_the_machine_of_a_run(metronome, built, backend, options):
    assert metronome("build", "--optimise", "--preset", "TINY", *options).status == 0
    assert metronome("run", "psort", "--preset", "TINY", *options).status == 0
    assert built == [config for config, _ in backend.runs]


def test_a_program_has_no_front_end(metronome, built):
    done = metronome("build", "psort", "--issue", "gto")
    assert done.status == 2 and built == []
    assert done.err == "metronome: --issue is for --optimise: a program is the same for every front end\n"


@pytest.mark.parametrize(("arguments", "wrong"), [
    (["psort"], "psort"), (["--size", "4"], "--size"), (["-o", "x.elf"], "-o"), (["--show-simt"], "--show-simt"),
    (["--type", "int32"], "--type"), (["--image", "x.hex"], "--image"),
])
def test_a_program_is_not_for_it(metronome, built, arguments, wrong):
    done = metronome("build", "--optimise", *arguments)
    (line,) = done.err.splitlines()
    assert done.status == 2 and built == []
    assert line == f"metronome: {wrong} is for a program: --optimise builds a machine"


def test_neither_a_program_nor_a_machine(metronome):
    done = metronome("build")
    (line,) = done.err.splitlines()
    assert done.status == 2 and line.startswith("metronome: name C or assembly files, or a kernel; or --optimise")


@pytest.mark.parametrize(("runs", "expected"), [(1, ["usual"]), (199, ["usual"]), (200, ["usual", "by profile"])])
def test_a_sweep_with_many_runs_of_a_machine_builds_it_so(monkeypatch, runs, expected):
    built = []
    monkeypatch.setattr(execute, "build", lambda config: built.append("usual"))

    def no_profile(config):
        built.append("by profile")
        raise BuildError("so it gives no profile")

    monkeypatch.setattr(execute, "built_by_profile", no_profile)
    run = type("Run", (), {"engine": execute.Engine.RTL, "config": TINY, "gpu": None, "load_policies": lambda: None})
    assert execute.build_machine(run, runs) is None and built == expected
