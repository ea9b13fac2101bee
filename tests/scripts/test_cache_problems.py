"""A build cache that cannot be used is one line that names METRONOME_CACHE; a damaged entry is built again."""

import pytest

from metronome.hdl.presets import TINY
from metronome.scripts.process.backend import Backend
from metronome.sim.build import simulator as build_module
from metronome.sim.build.simulator import BuildError, build
from metronome.sim.run.process import simulation


@pytest.fixture(params=["no such file system", "below that", "a file", "below a file"])
def unusable(request, tmp_path):
    """The name of a folder that nobody can make, root neither."""
    (tmp_path / "file").touch()
    return {
        "no such file system": "/proc/nope", "below that": "/proc/nope/cache", "a file": str(tmp_path / "file"),
        "below a file": str(tmp_path / "file" / "cache"),
    }[request.param]


@pytest.mark.parametrize("program", [["vecadd", "--size", "4"], ["--bin", "loop.bin"]], ids=["kernel", "raw image"])
def test_a_cache_that_cannot_be_made_is_one_line(unusable, program, tmp_path, monkeypatch, call):
    monkeypatch.delenv("METRONOME_TRACEBACK", raising=False)
    monkeypatch.setenv("METRONOME_CACHE", unusable)
    (tmp_path / "loop.bin").write_bytes(bytes(4))
    status, out, err = call("run", *program, "--preset", "TINY")
    (line,) = err.splitlines()
    assert (status, out) == (2, "")
    assert line.startswith(f"metronome: cannot use the build cache {unusable}: ")
    assert line.endswith(": set METRONOME_CACHE to a writable folder")


@pytest.mark.parametrize(("place", "status"), [("cache/sim-0.lock", 2), ("other/file", 70)])
def test_only_errors_in_the_cache_are_laid_to_it(metronome, backend, tmp_path, monkeypatch, place, status):
    """As a folder that may only be read answers; root may write all of them, so the error is made up."""
    monkeypatch.delenv("METRONOME_TRACEBACK", raising=False)
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    backend.error = PermissionError(13, "Permission denied", str(tmp_path / place))
    done = metronome("run", "psort")
    (line,) = done.err.splitlines()
    assert done.status == status
    assert ("METRONOME_CACHE" in line) == (status == 2)
    assert "Permission denied" in line


def test_a_full_disk_is_one_line(metronome, backend, tmp_path, monkeypatch):
    monkeypatch.delenv("METRONOME_TRACEBACK", raising=False)
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    backend.error = OSError(28, "No space left on device")
    done = metronome("run", "psort")
    assert done.status == 2
    assert done.err == ("metronome: No space left on device: make room, or set METRONOME_CACHE to a folder on another "
                        f"disk than {tmp_path / 'cache'}\n")


@pytest.mark.slow
def test_a_damaged_kernel_is_laid_to_the_cache(tmp_path, monkeypatch, call):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    Backend().prepare("vecadd", "int32", 4, 1, TINY)
    (elf,) = tmp_path.glob("kernels/*/*.elf")
    elf.write_bytes(b"")
    status, out, err = call("run", "vecadd", "--size", "4", "--preset", "TINY")
    (line,) = err.splitlines()
    assert (status, out) == (2, "")
    assert line.startswith(f"metronome: the build cache is damaged: delete {tmp_path / 'kernels'} to have it rebuilt (")


@pytest.fixture
def executable(tmp_path, monkeypatch):
    """The executable of an entry in a cache of its own, whose every build writes `whole`."""

    def compile_it(config, verilog, folder, waves, progress):
        (folder / "obj").mkdir()
        (folder / "metronome_top").write_bytes(b"whole")
        (folder / "metronome_top").chmod(0o755)

    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    monkeypatch.setattr(build_module, "_compile", compile_it)
    return build(TINY, verilog="module a;").executable


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: path.write_bytes(b"who"),
    "missing": lambda path: path.unlink(),
    "no build.json": lambda path: path.with_name("build.json").unlink(),
    "empty build.json": lambda path: path.with_name("build.json").write_text(""),
    "other build.json": lambda path: path.with_name("build.json").write_text("[]"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_built_again(executable, damage):
    assert build(TINY, verilog="module a;").build_seconds == 0
    damage(executable)
    again = build(TINY, verilog="module a;")
    assert again.build_seconds > 0
    assert again.executable == executable
    assert executable.read_bytes() == b"whole"
    assert build(TINY, verilog="module a;").build_seconds == 0


@pytest.mark.parametrize(("mode", "reason"), [(0o755, "Exec format error"), (0o644, "Permission denied")])
def test_an_executable_that_is_none_is_one_line(executable, mode, reason):
    executable.chmod(mode)
    with pytest.raises(BuildError, match=rf"^cannot start the cached simulation .*: {reason}: delete ") as caught:
        with simulation(executable) as process:
            list(process.messages([]))
    assert str(executable.parent) in str(caught.value)
    assert "\n" not in str(caught.value)
