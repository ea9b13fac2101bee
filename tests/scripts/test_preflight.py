"""What the machine lacks is named, with the Debian package that brings it."""

import subprocess
import sys
from pathlib import Path

import pytest

from metronome.scripts import preflight

SCRIPT = Path(preflight.__file__)


def fake_path(tmp_path, *programs):
    """A PATH that has these programs and no others."""
    for name in programs:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return str(tmp_path)


def test_nothing_is_missing_with_all_tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", fake_path(tmp_path, "make", "perl", "g++"))
    assert preflight.missing_for_build() == []


@pytest.mark.parametrize(("program", "package"), [("make", "make"), ("perl", "perl"), ("g++", "g++")])
def test_a_missing_program_names_its_package(tmp_path, monkeypatch, program, package):
    monkeypatch.setenv("PATH", fake_path(tmp_path, *{"make", "perl", "g++"} - {program}))
    (line,) = preflight.missing_for_build()
    assert program in line
    assert f"install the Debian package {package}," in line
    assert "\n" not in line


def test_a_python_without_venv_names_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert any(f"python{version}-venv" in line for line in preflight.missing_for_setup())


def test_a_python_without_a_shared_library_names_its_package(monkeypatch):
    monkeypatch.setattr(preflight.sysconfig, "get_config_var", lambda name: 0)
    assert any("libpython3" in line for line in preflight.missing_for_setup())


def test_an_old_python_is_refused_first(monkeypatch):
    monkeypatch.setattr(preflight.sys, "version_info", (3, 9, 2))
    (line,) = preflight.missing_for_setup()
    assert line.startswith("Python 3.9 is too old: install 3.11")


def test_as_a_script_it_needs_nothing_but_the_standard_library(tmp_path):
    """`make` runs it before anything is installed: -I -S leaves neither our packages nor site-packages."""
    command = [sys.executable, "-I", "-S", str(SCRIPT)]
    complete = fake_path(tmp_path, "make", "perl", "g++")
    done = subprocess.run(command, env={"PATH": complete}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lacking = subprocess.run(command, env={"PATH": "nowhere"}, capture_output=True, text=True, check=False)
    assert lacking.returncode == 2
    assert [line.split(" is missing")[0] for line in lacking.stderr.splitlines()] == [
        "metronome: make", "metronome: perl", "metronome: g++",
    ]
