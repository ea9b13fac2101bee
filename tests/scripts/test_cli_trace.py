"""``metronome trace`` and ``--trace``, the simulation included, and everything that can go wrong with the files."""

import errno
import io
import os

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.scripts.cli import main
from metronome.scripts.errors import UsageError
from metronome.scripts.tracing import traced
from metronome.sim.predict.records import EVENT
from metronome.sim.trace.cycles import nothing_before
from tests.builds import on

ENDINGS = ".csv, .parquet, .kanata"
CYCLES = np.concatenate([nothing_before(np.zeros(0, EVENT))] * 3000)
CYCLES["selected"] = CYCLES["fetched"] = 1
CYCLES["cycle"] = range(3000)


class FullDisk(io.FileIO):
    """A file that has room for its first kilobyte."""

    def write(self, data):
        if self.tell() + len(data) > 1024:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


def source(pc):
    """No line table."""


def command(*words):
    """The command line with the simulator behind it."""
    return main([str(word) for word in words])


@on("TINY")
def test_hardware_and_prediction_write_the_same(capsys, tmp_path):
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv", "d.csv")]
    asked = ("psum", "--preset", "TINY", "--size", "8", "--issue", "gtlo")
    for words in (
        ("trace", *asked, "-o", str(files[0])), ("trace", *asked, "-o", str(files[1]), "--engine", "predict"),
        ("run", *asked, "--trace", str(files[2])), ("predict", *asked, "--trace", str(files[3])),
    ):
        assert (command(*words), capsys.readouterr().err) == (0, "")
    header = "cycle,event,warp,pc,instruction,lanes,address,tag,register,detail"
    assert files[0].read_text().startswith(f"{header}\n0,start,0,")
    assert len({file.read_bytes() for file in files}) == 1
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv", "c.csv", "d.csv"]


@on("TINY")
def test_what_was_traced_until_the_cycle_limit_is_there(tmp_path):
    file = tmp_path / "a.csv"
    assert command("trace", "psum", "--preset", "TINY", "--max-cycles", "100", "-o", str(file)) == 4
    assert int(file.read_text().splitlines()[-1].partition(",")[0]) in range(90, 100)


@pytest.mark.parametrize(("words", "line"), [
    (("trace", "psort"), "which file?"),
    (("trace", "psort", "-o", "x.py"), f"--output: the name of the file has to end in one of {ENDINGS}, not 'x.py'"),
    (("run", "psort", "--trace", "x"), f"--trace: the name of the file has to end in one of {ENDINGS}, not 'x'"),
    (("trace", "psort", "-o", "nowhere/x.csv"), "--output: cannot write 'nowhere/x.csv': No such file"),
    (("trace", "psort", "-o", "x.csv", "-o", "x.csv"), "x.csv is already the file of --output"),
    (("trace", "psort", "-o", "x.csv", "--set", "probe=false"), "--output shows what the probe sees"),
    (("trace", "psort", "-o", "x.csv", "--engine", "predict", "--check"), "--check watches the hardware"),
    (("predict", "psort", "--trace", "x.csv", "--verify"), "--verify makes two"),
])
def test_bad_use_is_one_line(words, line, metronome, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = metronome(*words)
    assert done.status == 2
    assert line in done.err
    assert done.err.count("\n") == 1
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("ending", ["csv", "parquet", "kanata"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_breaks_off_leaves_what_there_was(ending, error, tmp_path):
    whole, broken = tmp_path / f"whole.{ending}", tmp_path / f"broken.{ending}"
    with traced([whole], TINY, source) as watcher:
        watcher.begin()
        watcher.take(CYCLES[:1000])
    with pytest.raises(error), traced([broken], TINY, source) as watcher:
        watcher.begin()
        watcher.take(CYCLES[:1000])
        raise error
    assert whole.read_bytes() == broken.read_bytes()
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("ending", ["csv", "parquet", "kanata"])
def test_a_full_disk_is_told_and_leaves_what_there_was_before(ending, tmp_path, monkeypatch):
    file = tmp_path / f"trace.{ending}"
    file.write_text("mine")
    monkeypatch.setattr("metronome.scripts.tracing.os.fdopen", FullDisk)
    told = pytest.raises(UsageError, match=r"cannot write .*: No space left on device")
    with told, traced([file], TINY, source) as watcher:
        watcher.begin()
        watcher.take(CYCLES)
    assert os.listdir(tmp_path) == [file.name]
    assert file.read_text() == "mine"
