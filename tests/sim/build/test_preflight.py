"""What the machine lacks is named, with the Debian package that brings it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from metronome.sim.build import preflight
from metronome.sim.build.sources import ROOT

SCRIPT = Path(preflight.__file__)


def fake_path(tmp_path, *programs):
    """A PATH that has these programs and no others."""
    for name in programs:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return str(tmp_path)


def test_nothing_is_missing_with_all_tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", fake_path(tmp_path, "make", "perl", "g++"))
    assert preflight.missing_for_simulation() == []


@pytest.mark.parametrize(("program", "package"), [("make", "make"), ("perl", "perl"), ("g++", "g++")])
def test_a_missing_program_names_its_package(tmp_path, monkeypatch, program, package):
    monkeypatch.setenv("PATH", fake_path(tmp_path, *{"make", "perl", "g++"} - {program}))
    (line,) = preflight.missing_for_simulation()
    assert program in line
    assert f"install the Debian package {package}," in line
    assert "\n" not in line


def test_a_python_without_venv_names_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert any(f"python{version}-venv" in line for line in preflight.missing_for_setup())


#: Settings of three Pythons, as `python -m sysconfig` prints them, and the library's place below the prefix.
DEBIAN = {"LIBDIR": "{prefix}/lib", "MULTIARCH": "x86_64-linux-gnu", "INSTSONAME": "libpython3.11.so.1.0",
          "Py_ENABLE_SHARED": 1}
UV = {"LIBDIR": "/install/lib", "INSTSONAME": "libpython3.11.so.1.0", "Py_ENABLE_SHARED": 1}
PYENV = {"LIBDIR": "{prefix}/lib", "INSTSONAME": "libpython3.11.a", "Py_ENABLE_SHARED": 0}


@pytest.fixture
def python_with(tmp_path, monkeypatch):
    """Pretends to be a Python with these settings, below a prefix in which nothing is."""
    def pretend(settings):
        values = {name: value.format(prefix=tmp_path) if isinstance(value, str) else value
                  for name, value in settings.items()}
        monkeypatch.setattr(preflight.sysconfig, "get_config_var", values.get)
        monkeypatch.setattr(preflight.sys, "base_prefix", str(tmp_path))
        monkeypatch.setattr(preflight.sys, "abiflags", "")
        # Whatever library the machine has for the dynamic linker.
        monkeypatch.setitem(sys.modules, "ctypes", None)
        return tmp_path

    return pretend


@pytest.mark.parametrize(("settings", "place"), [
    (DEBIAN, "lib/x86_64-linux-gnu/libpython3.11.so.1.0"), (DEBIAN, "lib/libpython3.11.so.1.0"),
    (UV, "lib/libpython3.11.so.1.0"),
])
def test_the_shared_library_is_found_where_it_is(python_with, settings, place):
    library = python_with(settings) / place
    assert preflight.libpython() is None
    library.parent.mkdir(parents=True)
    library.touch()
    assert preflight.libpython() == str(library.resolve())
    assert not any("shared library" in line for line in preflight.missing_for_setup())


@pytest.mark.parametrize("settings", [DEBIAN, UV, PYENV])
def test_a_python_without_its_shared_library_is_found_out(python_with, settings):
    prefix = python_with(settings)
    (line,) = [line for line in preflight.missing_for_setup() if "shared library" in line]
    assert f"below {prefix}" in line
    assert "--enable-shared" in line


def test_the_system_python_without_its_shared_library_names_the_package(python_with, monkeypatch):
    python_with(DEBIAN)
    monkeypatch.setattr(preflight.sys, "base_prefix", "/usr")
    monkeypatch.setattr(preflight.os.path, "isfile", lambda path: False)
    assert any("install the Debian package libpython3." in line for line in preflight.missing_for_setup())


def test_a_library_of_another_version_is_not_taken(monkeypatch):
    name = preflight._library_name()
    if preflight._loaded(name) is None:
        pytest.skip("the dynamic linker finds no shared library of this Python")
    monkeypatch.setattr(preflight.sys, "version", "3.99.1 (another)")
    assert preflight._loaded(name) is None


def test_an_old_python_is_refused_first(monkeypatch):
    monkeypatch.setattr(preflight.sys, "version_info", (3, 9, 2))
    (line,) = preflight.missing_for_setup()
    assert line.startswith("Python 3.9 is too old: install one from 3.11 to 3.13")


def test_a_python_without_all_packages_is_refused_before_anything_is_installed(monkeypatch):
    monkeypatch.setattr(preflight.sys, "version_info", (3, 14, 0))
    (line,) = preflight.missing_for_setup()
    assert line.startswith("Python 3.14 is too new: install one from 3.11 to 3.13")


def test_the_same_pythons_everywhere():
    """Preflight, pip and `make`, which looks for one, name the same versions."""
    newest = preflight.NEWEST_PYTHON
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">=3.{preflight.MINIMUM_PYTHON[1]},<3.{newest[1] + 1}"
    pattern = r"for p in (.*?); do.*?sys\.exit\(not (.*?)\)'"
    tried, condition = re.search(pattern, (ROOT / "Makefile").read_text(), re.DOTALL).groups()
    assert condition == f"{preflight.MINIMUM_PYTHON} <= sys.version_info[:2] <= {newest}"
    minors = range(newest[1], preflight.MINIMUM_PYTHON[1] - 1, -1)
    assert tried.split() == ["python3", *(f"python3.{minor}" for minor in minors)]


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
