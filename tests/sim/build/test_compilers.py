"""Which C++ compiler a build takes, and what its key has of it."""

import dataclasses

import pytest

from metronome.sim.build import compilers, verilating
from metronome.sim.build.compilers import GCC


@pytest.fixture(autouse=True)
def asked_anew():
    for cached in (compilers.chosen, compilers.clang, compilers.level):
        cached.cache_clear()
    yield
    for cached in (compilers.chosen, compilers.clang, compilers.level):
        cached.cache_clear()


def test_clang_of_the_wheel_compiles_here(capsys):
    assert compilers.chosen() == compilers.clang() is not None
    assert capsys.readouterr().err == ""


def test_where_clang_finds_no_library_gcc_compiles_and_a_line_says_so(monkeypatch, capsys):
    blind = dataclasses.replace(compilers.clang(), flags="--target=x86_64-linux-gnu -nostdinc++")
    monkeypatch.setattr(compilers, "clang", lambda: blind)
    assert compilers.chosen() is GCC
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("metronome: clang of ziglang ") and "'coroutine' file not found" in line
    assert line.endswith(": g++ is used instead, and the simulation is slower")


def test_without_the_wheel_gcc_compiles(monkeypatch, capsys):
    monkeypatch.setattr(compilers.importlib.util, "find_spec", lambda name: None)
    assert compilers.clang() is None and compilers.chosen() is GCC
    assert compilers.identity().endswith(", g++")
    assert capsys.readouterr().err == (
        "metronome: the Python package ziglang has no clang here: g++ is used instead, and the simulation is slower\n")


def test_a_machine_with_other_instructions_has_other_keys(monkeypatch):
    """What is compiled for more than a machine has would end by a signal there."""
    keys = []
    for level in ("", "-march=x86-64-v3"):
        compilers.clang.cache_clear()
        monkeypatch.setattr(compilers, "level", lambda level=level: level)
        assert level in compilers.clang().flags
        keys.append((compilers.identity(), verilating.digest("a design")))
    assert all(one != other for one, other in zip(*keys, strict=True))
    monkeypatch.undo()


@pytest.mark.parametrize(("flags", "level"), [
    ("avx avx2 bmi1 bmi2 f16c fma abm movbe xsave sse4_2", "-march=x86-64-v3"),
    ("avx bmi1 bmi2 f16c fma abm movbe xsave", ""),
])
def test_the_instructions_are_those_of_the_processor(monkeypatch, flags, level):
    monkeypatch.setattr(compilers.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(compilers.Path, "read_text", lambda self: f"processor : 0\nflags\t\t: {flags}\n")
    assert compilers.level() == level


def test_another_processor_has_no_such_levels(monkeypatch):
    monkeypatch.setattr(compilers.platform, "machine", lambda: "aarch64")
    assert compilers.level() == "" and compilers.clang().flags.startswith("--target=aarch64-linux-gnu ")
