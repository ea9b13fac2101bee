"""The build cache: where it is, how its entries are held and pruned."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metronome.sim.build import cache as cache_module
from metronome.sim.build.cache import cache_folder, entry, locked, try_lock, used, workplace
from metronome.sim.build.cache_pruning import LEFTOVERS, entries, prune
from metronome.sim.build.sources import ROOT

NAME = "sim-0123456789abcdef"
DAY = 86400


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    monkeypatch.setattr(cache_module, "_held", {})
    return tmp_path


def fill(folder, content="whole"):
    (folder / "file").write_text(content)


def age(path, days):
    os.utime(path, (time.time() - days * DAY,) * 2)


def put(cache, name, days, size=4096):
    """An entry of ``size`` bytes that nobody holds."""
    path = cache / name
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"x" * size)
    age(path, days)
    return path


def names(found):
    return [one.path.name for one in found]


def test_folder_of_a_checkout(monkeypatch):
    monkeypatch.delenv("METRONOME_CACHE", raising=False)
    assert cache_folder() == ROOT / "build" / "cache"


@pytest.mark.parametrize(("base", "folder"), [("{}/x", "{}/x/metronome"), ("relative", "{}/her/.cache/metronome"),
                                              ("", "{}/her/.cache/metronome")])
def test_folder_of_an_installation_is_the_users(monkeypatch, tmp_path, base, folder):
    monkeypatch.delenv("METRONOME_CACHE", raising=False)
    monkeypatch.setattr(cache_module, "ROOT", tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "her"))
    monkeypatch.setenv("XDG_CACHE_HOME", base.format(tmp_path))
    assert cache_folder() == Path(folder.format(tmp_path))
    monkeypatch.setenv("METRONOME_CACHE", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")


def test_folder_that_is_named_from_here(monkeypatch, tmp_path):
    """Compilers are started in folders of their own: for them too it is below the folder of the command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METRONOME_CACHE", "some/cache")
    assert cache_folder() == tmp_path / "some" / "cache"


def test_an_entry_is_made_once_and_leaves_nothing_else(cache):
    made = []

    def make(folder):
        made.append(folder)
        fill(folder)

    assert entry(NAME, make) == entry(NAME, make) == cache / NAME
    assert len(made) == 1
    assert os.listdir(cache) == [NAME]
    assert os.listdir(cache / NAME) == ["file"]


def test_what_is_not_whole_is_made_again(cache):
    put(cache, NAME, 1, 0)
    entry(NAME, fill, lambda path: (path / "file").exists() and (path / "file").read_text() == "whole")
    assert (cache / NAME / "file").read_text() == "whole"


def test_what_fails_leaves_nothing(cache):
    def fail(folder):
        fill(folder)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        entry(NAME, fail)
    assert os.listdir(cache) == []


def test_use_makes_it_young(cache):
    path = put(cache, NAME, 30)
    entry(NAME, fill)
    assert time.time() - path.stat().st_mtime < DAY


def test_a_cache_that_cannot_be_touched_is_read(cache):
    used(cache / "nobody")


def test_a_lock_has_one_owner_and_is_removed(cache):
    path = cache / "a.lock"
    code = "from metronome.sim.build.cache import *; from pathlib import Path\n"
    code += f"with locked(Path({str(path)!r})): print('in')"
    with locked(path):
        other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(2)
    assert other.communicate(timeout=60)[0] == "in\n"
    assert not path.exists()


def test_an_entry_in_use_stays(cache):
    entry(NAME, fill)
    entry("kernels/" + "0" * 32, fill)
    removed, in_use = prune(seconds=0, most=0)
    assert (removed, sorted(names(in_use))) == ([], ["0" * 32, NAME])
    for descriptor in cache_module._held.values():
        os.close(descriptor)
    cache_module._held.clear()
    removed, in_use = prune(seconds=0)
    assert (sorted(names(removed)), in_use) == (["0" * 32, NAME], [])
    assert os.listdir(cache) == ["kernels"]


def test_an_entry_made_anew_is_held_anew(cache):
    entry(NAME, fill)
    (cache / NAME).rename(cache / "gone")
    entry(NAME, fill)
    assert names(prune(seconds=0)[1]) == [NAME]


@pytest.mark.parametrize("kind", ["netlist", "route", "parts", "gates"])
def test_what_the_synthesis_makes_is_of_one_kind(cache, kind):
    put(cache, f"{kind}-" + "0" * 16, 5)
    assert [each.kind for each in entries()] == ["synthesis"]


def test_prune_by_age(cache):
    put(cache, "sim-" + "0" * 16, 10)
    put(cache, "netlist-" + "0" * 16, 5)
    put(cache, "kernels/" + "0" * 32, 20)
    (cache / ("proof-" + "0" * 16 + ".json")).write_text("{}")
    assert names(prune(seconds=7 * DAY)[0]) == ["0" * 32, "sim-" + "0" * 16]
    assert sorted(path.name for path in cache.iterdir()) == ["kernels", "netlist-" + "0" * 16,
                                                             "proof-" + "0" * 16 + ".json"]


def test_prune_by_size_takes_the_least_recently_used(cache):
    for number, days in enumerate((3, 9, 1, 5)):
        put(cache, f"sim-{number:016x}", days, 100_000)
    each = entries()[0].bytes
    assert each >= 100_000
    assert names(prune(most=2 * each)[0]) == [f"sim-{1:016x}", f"sim-{3:016x}"]
    assert prune(most=2 * each) == ([], [])


def test_leftovers_are_no_reason_to_remove_an_entry(cache):
    put(cache, NAME, 9, 50_000)
    put(cache, "tmp-abc", 0, 500_000)
    assert names(prune(most=100_000)[0]) == ["tmp-abc"]


LEFT = ["tmp-a1b2_c3", "tmp-0123456789abcdef-x_y", "tmp-runtime-abc", "kernels/building-abc"]


def test_leftovers_of_every_kind_go(cache):
    for name in LEFT:
        put(cache, name, 0)
    files = [f"{NAME}.lock", "kernels/" + "0" * 32 + ".lock", "proof-0123456789abcdef.4711"]
    for name in files:
        (cache / name).touch()
    assert {one.kind for one in entries()} == {LEFTOVERS}
    assert len(prune()[0]) == len(LEFT) + len(files)
    assert [path.name for path in cache.rglob("*")] == ["kernels"]


def test_what_is_not_ours_stays(cache):
    mine = [put(cache, "photos", 900), put(cache, "sim-mine", 900), cache / "notes.txt"]
    mine[2].touch()
    assert prune(seconds=0, most=0) == ([], [])
    assert all(path.exists() for path in mine)


def test_a_temporary_folder_in_use_is_no_leftover(cache):
    with workplace() as folder:
        fill(folder)
        assert entries() == []
        assert prune(seconds=0) == ([], [])
        assert (folder / "file").exists()
    assert os.listdir(cache) == []


def test_a_cache_that_is_not_there_is_empty(cache, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(cache / "none"))
    assert (entries(), prune(seconds=0)) == ([], ([], []))
    assert not (cache / "none").exists()


def test_try_lock_of_what_is_gone(cache):
    with try_lock(cache / "none") as free:
        assert not free


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A cache that can only be read, and the user's own folder. Root may write all, so the system is made to deny."""
    shared, own = tmp_path / "shared", tmp_path / "own"
    monkeypatch.setenv("METRONOME_CACHE", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    monkeypatch.setattr(cache_module, "_held", {})
    entry(NAME, fill)
    cache_module.remember("design-" + "0" * 16, "kept")
    denied = [shared]
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path not in denied and access(path, mode))
    shared.chmod(0o555)
    cache_module._for_now.cache_clear()
    yield shared, own, denied
    shared.chmod(0o755)
    cache_module._for_now.cache_clear()


def unmade(folder):
    raise AssertionError("it is there")


def test_a_cache_that_can_only_be_read_is_used(shared):
    folder, own, _ = shared
    before = {path: path.stat().st_mtime for path in folder.rglob("*")}
    assert entry(NAME, unmade) == folder / NAME
    assert cache_module.found("design-" + "0" * 16).read_text() == "kept"
    other, kernel = NAME.replace("0", "1"), "kernels/" + "0" * 32
    assert entry(other, fill) == own / "metronome" / other
    assert entry(kernel, fill) == own / "metronome" / kernel
    assert entry(kernel, unmade) == own / "metronome" / kernel
    assert entry(NAME, fill, own=True) == own / "metronome" / NAME
    cache_module.remember("proof", "made")
    assert cache_module.found("proof") == own / "metronome" / "proof"
    assert before.keys() == set(folder.rglob("*"))


def test_without_a_folder_of_the_users_it_is_made_for_the_command(shared, capsys, tmp_path):
    folder, own, denied = shared
    denied.append(own / "metronome")
    made = entry(NAME.replace("0", "1"), fill)
    assert made.is_relative_to(cache_module._for_now()) and not made.is_relative_to(tmp_path / "own")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"metronome: the build cache {folder} is not writable: ")
