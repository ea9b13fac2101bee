"""Builds by profile: when one is made, that it is made once, and that runs by it are the same."""

import dataclasses
import fcntl
import json
import multiprocessing

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.build import by_profile
from metronome.sim.build.by_profile import note_seconds, seconds_file, seconds_until_it_pays
from metronome.sim.build.simulator import Build, BuildError, build, kept_executable
from metronome.sim.machine.schemes import check_scheme, coordinate
from metronome.sim.program.kernels import prepare
from metronome.sim.run import profiling
from metronome.sim.run.profiling import PROGRAMS, built_by_profile, when_it_pays
from metronome.sim.run.runner import RunRequest, run


@pytest.fixture
def usual(tmp_path):
    """An entry whose compilation took 2 seconds."""
    (tmp_path / "build.json").write_text(json.dumps({"compile_seconds": 2.0}))
    return Build(tmp_path / "metronome_top")


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Configurations for which a build by profile is asked; it is another executable."""
    configs = []

    def built(config, progress):
        configs.append(config)
        return Build(tmp_path / "by_profile")

    monkeypatch.setattr(profiling, "built_by_profile", built)
    return configs


def test_it_pays_when_runs_have_taken_thirty_times_the_compilation(usual, asked, capsys):
    for _ in range(2):
        note_seconds(usual.executable, 29.9)
    assert seconds_until_it_pays(usual.executable) == pytest.approx(0.2)
    assert when_it_pays(TINY, usual, print) is usual and asked == []
    note_seconds(usual.executable, 0.2)
    assert when_it_pays(TINY, usual, print).executable.name == "by_profile" and asked == [TINY]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("metronome: this machine is simulated often: ")


def test_nobody_who_watches_no_line(usual, asked, capsys):
    note_seconds(usual.executable, 100)
    when_it_pays(TINY, usual, None)
    assert asked == [TINY] and capsys.readouterr().err == ""


@pytest.mark.parametrize("error", [BuildError("it fails\nat length"), OSError(28, "No space left on device")])
def test_what_fails_is_a_line_and_not_tried_again_at_once(usual, monkeypatch, capsys, error):
    def fail(config, progress):
        raise error

    monkeypatch.setattr(profiling, "built_by_profile", fail)
    note_seconds(usual.executable, 100)
    assert when_it_pays(TINY, usual, print) is usual
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("metronome: the build with a profile failed, so the ordinary simulation is used: ")
    assert line.endswith(str(error).splitlines()[0])
    assert seconds_until_it_pays(usual.executable) == 60


def test_it_is_not_made_twice_at_the_same_time(usual, asked, capsys):
    note_seconds(usual.executable, 100)
    with seconds_file(usual.executable).open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert when_it_pays(TINY, usual, print) is usual and asked == []
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("metronome: another command is building this machine with a profile: ")


@pytest.mark.parametrize("content", ["", "x\n", "1.0\nx\n", "nan\n", "inf\n", "1e999\n", "\udcff\n", "9" * 99 + "\n"])
def test_a_damaged_count_is_no_reason_and_later_ones_count(usual, asked, content):
    seconds_file(usual.executable).write_text(content, errors="surrogateescape")
    assert when_it_pays(TINY, usual, print) is usual and asked == []
    note_seconds(usual.executable, 60)
    assert when_it_pays(TINY, usual, print) is not usual and asked == [TINY]


def test_where_nothing_can_be_noted_it_is_not_built(usual, asked, monkeypatch, capsys):
    """Else every command would."""
    note_seconds(usual.executable, 100)
    monkeypatch.setattr(profiling, "note_seconds", lambda executable, seconds: False)
    assert when_it_pays(TINY, usual, print) is usual and asked == [] and capsys.readouterr().err == ""


def test_a_note_that_fails_says_so(usual, tmp_path):
    seconds_file(usual.executable).mkdir()
    assert not note_seconds(usual.executable, None) and not note_seconds(usual.executable, 1.0)


def test_one_by_profile_is_not_built_again(usual, asked):
    (usual.executable.parent / "build.json").write_text(json.dumps({"by_profile": True}))
    note_seconds(usual.executable, 1e6)
    assert when_it_pays(TINY, usual, print) is usual and asked == []


def test_without_clang_there_is_none(usual, asked, monkeypatch):
    monkeypatch.setattr(by_profile.compilers, "clang", lambda: None)
    note_seconds(usual.executable, 100)
    assert when_it_pays(TINY, usual, print) is usual and asked == []
    monkeypatch.setattr(by_profile.compilers, "chosen", lambda: by_profile.compilers.GCC)
    with pytest.raises(BuildError, match="the compiler of the Python package ziglang"):
        by_profile.build_by_profile(TINY, pytest.fail)


@pytest.mark.parametrize("error", [
    profiling.KernelError("no memory"), profiling.SimulationError("it died"), profiling.ToolchainError("no compiler"),
])
def test_a_program_that_cannot_be_run_is_one_line(monkeypatch, tmp_path, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(profiling, "prepare", fail)
    with pytest.raises(BuildError, match=f"no profile: {error}"):
        profiling._counts(TINY, tmp_path / "metronome_top")


@pytest.mark.parametrize("mode", ["swas", "baseline", "vortex"])
def test_every_front_end_can_be_counted(mode):
    config = coordinate(TINY, check_scheme(TINY, mode=mode))
    assert all(profiling._job(config, name, size).config == config for name, size in PROGRAMS)


def test_a_machine_that_cannot_be_simulated_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(by_profile, "build_usual", pytest.fail)
    with pytest.raises(BuildError, match="leave out all_counters=false"):
        built_by_profile(dataclasses.replace(TINY, all_counters=False))


def test_runs_are_noted(monkeypatch):
    executable = build(TINY).executable
    noted = []
    monkeypatch.setattr("metronome.sim.run.runner.note_seconds", lambda *arguments: noted.append(arguments))
    result = run(TINY, RunRequest(launch=prepare("vecadd", size=4, config=TINY), policy=TINY.policies[0]))
    assert noted == [(executable, result.sim_seconds - result.python_seconds)]


def _build(results):
    results.put(str(built_by_profile(TINY).executable))


@pytest.mark.more
def test_runs_by_profile_are_the_same(own_cache, monkeypatch):
    """In a cache of its own, by two processes at once; after a try that fails."""
    request = RunRequest(launch=prepare("sgemm", size=8, config=TINY), policy=TINY.policies[-1], check=True)
    before = run(TINY, request)
    with monkeypatch.context() as patched:
        patched.setattr(profiling, "RunRequest", lambda **fields: RunRequest(**fields, max_cycles=100))
        with pytest.raises(BuildError, match="psort does not end on this machine, so it gives no profile"):
            built_by_profile(TINY)
    assert not [path.name for path in own_cache.glob("tmp-*")] and kept_executable(TINY) == build(TINY).executable
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    processes = [context.Process(target=_build, args=(results,)) for _ in range(2)]
    for process in processes:
        process.start()
    executables = {results.get(timeout=300) for _ in processes}
    for process in processes:
        process.join()
    assert executables == {str(kept_executable(TINY))} == {str(build(TINY).executable)}
    after = run(TINY, request)
    for field in ("total_cycles", "counters", "status", "mismatches", "region", "memory_statistics"):
        assert getattr(before, field) == getattr(after, field), field
    assert after.checked and len(PROGRAMS) == 3
    # It has been compiled by the profile, and counts no more.
    usual = build(TINY, by_profile=False).executable
    assert usual != build(TINY).executable and usual.read_bytes() != build(TINY).executable.read_bytes()
    assert b"__llvm_prf" not in build(TINY).executable.read_bytes()
    entry = kept_executable(TINY).parent
    assert json.loads((entry / "build.json").read_text())["by_profile"]
    assert not (entry / "obj").exists()
