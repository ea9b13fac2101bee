"""A tool that a simulation needs is found missing before anything is compiled."""

import pytest

from metronome.scripts.cli import main
from metronome.scripts.process.backend import Backend
from tests.scripts.lines import only_line

COMMANDS = {
    "run": ("run", "psort"), "trace": ("trace", "psort", "-o", "psort.html"),
    "a waveform": ("run", "psort", "--trace", "psort.vcd"), "sweep": ("sweep", "vecadd", "--preset", "TINY"),
    "bench": ("bench",),
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_before_the_kernel_is_compiled(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("metronome.sim.program.compiler.elf_cache.entry", None)
    assert main(list(arguments), backend=Backend()) == 2
    line = only_line(capsys.readouterr().err)
    assert line.startswith("metronome: make is missing (it runs the builds of Verilator): install the Debian package ")
    assert not list(tmp_path.glob("cache/*/*"))
