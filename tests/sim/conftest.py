"""A cache in which the C library is built."""

import shutil

import pytest

from metronome.sim.program.compiler.elf_cache import build_elf


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """A cache with what all programs have in common, and no program."""
    folder = tmp_path_factory.mktemp("library")
    source = folder / "program.c"
    source.write_text("int main(void) { return 0; }\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METRONOME_CACHE", str(folder / "cache"))
        shutil.rmtree(build_elf([source], name="program").parent)
    return folder / "cache"


@pytest.fixture
def own_cache(library, tmp_path, monkeypatch):
    """A copy of it, which is the cache of the test."""
    folder = tmp_path / "cache"
    shutil.copytree(library, folder)
    monkeypatch.setenv("METRONOME_CACHE", str(folder))
    return folder
