"""`metronome cache`: the listing, the pruning, and bad use."""

import json
import os
import time

import pytest

DAY = 86400
SIMULATION, PROOF = "sim-0123456789abcdef", "proof-0123456789abcdef.json"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A simulation of 100 kB, 10 days old, a proof of today, and what a killed build has left."""
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    (tmp_path / SIMULATION).mkdir()
    (tmp_path / SIMULATION / "metronome_top").write_bytes(bytes(range(250)) * 400)
    os.utime(tmp_path / SIMULATION, (time.time() - 10 * DAY,) * 2)
    (tmp_path / PROOF).write_text("{}")
    (tmp_path / "tmp-abc").mkdir()
    return tmp_path


def left(cache):
    return sorted(path.name for path in cache.iterdir())


def test_listing(metronome, cache):
    done = metronome("cache")
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()[2:]}
    assert done.status == 0
    assert done.out.splitlines()[0] == str(cache)
    assert rows["simulations"][0] == rows["proofs"][0] == rows["leftovers"][0] == "1"
    assert rows["simulations"][-2:] == ["10", "days"]
    assert rows["kernels"] == ["0", "0", "B"]
    assert rows["all"][0] == "3"
    assert len(left(cache)) == 3


def test_json(metronome, cache):
    document = json.loads(metronome("cache", "--prune", "--older-than", "7", "--json", "-").out)
    assert list(document) == ["folder", "kinds", "removed", "removed_bytes", "in_use", "origin"]
    assert (document["folder"], document["removed"], document["in_use"]) == (str(cache), 2, 0)
    assert document["removed_bytes"] >= 100_000
    kinds = {row.pop("kind"): row for row in document["kinds"]}
    assert kinds["simulations"] == {"entries": 0, "bytes": 0, "newest_days": None, "oldest_days": None}
    assert kinds["proofs"]["entries"] == 1
    assert kinds["proofs"]["newest_days"] == kinds["proofs"]["oldest_days"] < 1


@pytest.mark.parametrize(
    ("options", "stays"),
    [
        ([], [PROOF, SIMULATION]),
        (["--older-than", "11"], [PROOF, SIMULATION]),
        (["--older-than", "9.5"], [PROOF]),
        (["--older-than", "0"], []),
        (["--max-size", "1G"], [PROOF, SIMULATION]),
        (["--max-size", "90K"], [PROOF]),
        (["--max-size", "0"], []),
        (["--max-size", "0.05M", "--older-than", "30"], [PROOF]),
    ],
)
def test_prune(metronome, cache, options, stays):
    done = metronome("cache", "--prune", *options, status=0)
    assert left(cache) == stays
    assert done.out.splitlines()[-1].startswith(f"removed {3 - len(stays)} entr")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--older-than", "3"], "--older-than is for --prune"),
        (["--max-size", "3G"], "--max-size is for --prune"),
        (["--prune", "--older-than", "-1"], "--older-than must be a number of days, at least 0, not -1"),
        (["--prune", "--older-than", "nan"], "--older-than must be a number of days, at least 0, not nan"),
        (["--prune", "--max-size", "2GB"], "--max-size: '2GB' is not a size: write a number followed by K, M, G or T"),
        (["--prune", "--max-size", "-1"], "--max-size: '-1' is not a size"),
        (["--prune", "--max-size", ""], "--max-size: '' is not a size"),
    ],
)
def test_bad_use_is_one_line(metronome, cache, options, line):
    done = metronome("cache", *options)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"metronome: {line}")
    assert len(done.err.splitlines()) == 1
    assert len(left(cache)) == 3


def test_a_folder_that_is_not_there_is_empty(metronome, cache, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(cache / "none"))
    done = metronome("cache", "--prune")
    assert (done.status, done.out.splitlines()[-1]) == (0, "removed 0 entries, 0 B")


@pytest.mark.parametrize("below", ["", "/cache"])
def test_a_cache_that_is_no_folder(metronome, tmp_path, monkeypatch, below):
    (tmp_path / "file").touch()
    monkeypatch.setenv("METRONOME_CACHE", f"{tmp_path}/file{below}")
    done = metronome("cache", "--prune")
    (line,) = done.err.splitlines()
    assert done.status == 2
    assert line.startswith(f"metronome: cannot use the build cache {tmp_path}/file{below}: ")
