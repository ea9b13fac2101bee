"""Which files of the tree are found: without git the same as with it, and by pytest every test."""

import fnmatch
import shutil

import pytest

from metronome.sim.build.sources import ROOT
from tests.support.source_files import source_files


def test_without_git_the_same_files_are_found(monkeypatch):
    if not (shutil.which("git") and (ROOT / ".git").exists()):
        pytest.skip("there is no git, or no checkout, to compare with")
    with_git = source_files(ROOT)
    monkeypatch.setenv("PATH", "")
    assert source_files(ROOT) == with_git


def test_ignored_files_are_left_out_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    (tmp_path / ".gitignore").write_text("build/\n*.pyc\n")
    (tmp_path / "build").mkdir()
    for name in ("a.py", "a.pyc", "build/b.py"):
        (tmp_path / name).touch()
    assert [path.name for path in source_files(tmp_path)] == [".gitignore", "a.py"]


def test_pytest_looks_into_every_folder_of_tests(request):
    tests = ROOT / "tests"
    folders = {name for path in tests.rglob("test_*.py") for name in path.relative_to(tests).parent.parts}
    left_out = request.config.getini("norecursedirs")
    assert "build" in folders and left_out
    assert not [name for name in folders if any(fnmatch.fnmatch(name, pattern) for pattern in left_out)]
