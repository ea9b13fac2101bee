"""Without git the same files are found."""

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
