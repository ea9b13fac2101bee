"""``metronome trace`` and ``--trace``, the simulation included, and everything that can go wrong with the files."""

import errno
import io
import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.scripts.cli import main
from metronome.scripts.commands.tracing import TraceFile, traced
from metronome.scripts.commands.waving import waved
from metronome.scripts.process.errors import UsageError
from metronome.sim.machine.events import EVENT
from metronome.sim.program.elf import ElfImage
from metronome.sim.show.trace.about import About
from metronome.sim.show.trace.cycles import nothing_before
from metronome.sim.show.trace.formats import Window
from tests.support.builds import on
from tests.support.programs import written

KINDS = ("html", "csv", "parquet", "kanata", "pftrace")
ENDINGS = ".html, .csv, .parquet, .kanata, .pftrace, .svg, .pdf, .vcd, .fst, .gtkw"
CYCLES = np.concatenate([nothing_before(np.zeros(0, EVENT))] * 3000)
CYCLES["selected"] = CYCLES["fetched"] = 1
CYCLES["cycle"] = range(3000)


class FullDisk(io.FileIO):
    """A file that has room for its first kilobyte."""

    def write(self, data):
        if self.tell() + len(data) > 1024:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


ABOUT = About(name="a run", facts=[("program", "none")], image=ElfImage(path=Path("none.elf"), entry=0, segments=()))


def traced_file(path):
    return [TraceFile(path, path.suffix)]


def command(*words):
    """The command line with the simulator behind it."""
    return main([str(word) for word in words])


@pytest.mark.slow
@pytest.mark.parametrize("more", [
    pytest.param((), marks=on("TINY"), id="TINY"),
    pytest.param(("--warps", "4", "--set", "schedulers=2"), marks=pytest.mark.long, id="two partitions"),
    pytest.param(("--warps", "4", "--set", "schedulers=4"), marks=pytest.mark.long, id="four partitions"),
])
def test_hardware_and_prediction_write_the_same(capsys, tmp_path, more):
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv", "d.csv")]
    asked = ("psum", "--preset", "TINY", "--size", "8", "--issue", "gtlo", *more)
    for words in (
        ("trace", *asked, "-o", str(files[0])), ("trace", *asked, "-o", str(files[1]), "--engine", "predict"),
        ("run", *asked, "--trace", str(files[2])), ("predict", *asked, "--trace", str(files[3])),
    ):
        assert (command(*words), capsys.readouterr().err) == (0, "")
    of_partitions = ("warp,", "0,start,0,") if not more else ("warp,partition,", "0,start,0,0,")
    header = f"cycle,event,{of_partitions[0]}pc,instruction,lanes,address,tag,register,detail"
    assert files[0].read_text().startswith(f"{header}\n{of_partitions[1]}")
    assert len({file.read_bytes() for file in files}) == 1
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv", "c.csv", "d.csv"]


@on("TINY")
def test_the_format_may_be_said(tmp_path):
    """Two pages are one, whatever their files are called."""
    files = [tmp_path / "a", tmp_path / "b"]
    for file, policy in zip(files, ("lrr", "gtlo"), strict=True):
        asked = ("psum", "--preset", "TINY", "--size", "8", "--issue", policy, "--engine", "predict")
        assert command("trace", *asked, "-o", file, "--format", "html") == 0
    both = tmp_path / "c.html"
    assert command("trace", "--diff", *files, "-o", both) == 0
    assert both.stat().st_size > max(file.stat().st_size for file in files)
    assert command("trace", "--diff", both, files[0], "-o", tmp_path / "d.html") == 2
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c.html"]


@on("TINY")
def test_a_figure_needs_all_of_its_cycles(capsys, tmp_path, monkeypatch):
    """Beside a trace that has what there is; a run that is broken off leaves no part of a figure."""
    monkeypatch.chdir(tmp_path)
    asked = ("trace", "psum", "--preset", "TINY", "--size", "8", "--engine", "predict", "-o", "a.svg", "-o", "a.csv")
    assert command(*asked, "--from", "99990", "--to", "100000") == 2
    told = capsys.readouterr().err
    assert told.startswith("metronome: a.svg: --to 100000: the run has only the cycles 0 to ")
    assert told.count("\n") == 1 and os.listdir() == ["a.csv"]
    assert command(*asked, "--from", "20", "--to", "60") == 0
    assert sorted(os.listdir()) == ["a.csv", "a.svg"]
    broken = traced(traced_file(Path("b.svg")), TINY, ABOUT, (), Window(5, 50))
    with pytest.raises(KeyboardInterrupt), broken as watcher:
        watcher.begin()
        watcher.take(CYCLES[:20])
        raise KeyboardInterrupt
    assert sorted(os.listdir()) == ["a.csv", "a.svg"]


@on("TINY")
def test_what_was_traced_until_the_cycle_limit_is_there(tmp_path):
    file = tmp_path / "a.csv"
    assert command("trace", "psum", "--preset", "TINY", "--max-cycles", "100", "-o", str(file)) == 4
    assert int(file.read_text().splitlines()[-1].partition(",")[0]) in range(90, 100)


@pytest.mark.parametrize(("words", "line"), [
    (("trace", "psort"), "which file?"),
    (("trace", "psort", "-o", "x.py"), f"--output: the name of the file must end in one of {ENDINGS}, not 'x.py'"),
    (("run", "psort", "--trace", "x"), f"--trace: the name of the file must end in one of {ENDINGS}, not 'x'"),
    (("trace", "psort", "-o", "nowhere/x.csv"), "--output: cannot write 'nowhere/x.csv': No such file"),
    (("trace", "psort", "-o", "x.csv", "-o", "x.csv"), "x.csv is already the file of --output"),
    (("trace", "psort", "-o", "x.csv", "--set", "probe=false"), "--output needs the probe"),
    (("trace", "psort", "-o", "x.csv", "--engine", "predict", "--check"), "--check watches the hardware"),
    (("predict", "psort", "--trace", "x.csv", "--verify"), "--verify makes two"),
    (("trace", "psort", "-o", "-", "--format", "csv"), "--output: a trace is a file, and cannot go to standard output"),
    (("trace", "psort", "-o", "x.gtkw"), "ask for a .vcd or .fst file, too"),
    (("trace", "psort", "-o", "x.csv", "--from", "3"), "--from and --to are for a figure or a waveform"),
    (("trace", "psort", "-o", "x.vcd", "--to", "-1"), "--to must be a cycle, from 0 on, not -1"),
    (("trace", "psort", "-o", "x.fst", "--from", "3", "--to", "2"), "2 is before 3"),
    (("trace", "psort", "-o", "x.svg", "--from", "3"),
     "x.svg: a figure shows at most 200 cycles of one SM: add --from CYCLE"),
    (("trace", "psort", "-o", "x.pdf"),
     "x.pdf: a figure shows at most 200 cycles of one SM: add --from CYCLE and --to CYCLE"),
    (("trace", "psort", "-o", "x.svg", "--from", "5", "--to", "5"), "--to a later one, not 5 and 5"),
    (("trace", "psort", "-o", "x.svg", "--from", "-1", "--to", "5"), "--from must be a cycle, from 0 on"),
    (("trace", "psort", "-o", "x.svg", "--from", "10", "--to", "210"), "201 cycles cannot be read in one figure"),
    (("run", "psort", "--trace", "x.svg"), "--trace x.svg: a figure shows some cycles: metronome trace --from CYCLE"),
    (("predict", "psort", "--trace", "x.pdf"), "--trace x.pdf: a figure shows some cycles: metronome trace --from"),
    (("trace", "psort", "-o", "x.vcd", "--engine", "predict"), "a waveform is that of the hardware"),
    (("trace", "psort", "-o", "x.csv", "--to", "3", "--engine", "predict"), "--from and --to are for a figure: "),
    (("predict", "psort", "--trace", "x.vcd"), "a waveform is that of the hardware"),
    (("predict", "psort", "--profile", "--verify"), "--profile is that of one run, --verify makes two"),
    (("run", "psort", "--profile", "--set", "probe=false"), "--profile needs the probe"),
    (("trace", "psort", "-o", "x", "--format", "py"), "--format must be one of html, csv, parquet, kanata, pftrace, "),
    (("run", "psort", "--format", "csv"), "--format is that of traced files: name one with --trace"),
    (("trace", "psort", "--diff", "a.html", "b.html", "-o", "c.html"), "--diff reads two pages that are there"),
    (("trace", "--diff", "a.html", "b.html"), "--diff makes one page: --output FILE.html"),
    (("trace", "--diff", "a.html", "b.html", "-o", "c.csv"), "--diff makes one page: --output FILE.html"),
    (("trace", "--diff", "a.html", "b.html", "-o", "c.html"), "--diff: cannot read a.html: No such file"),
    (("trace", "--diff", "/dev/null", "/dev/null", "-o", "c.html"), "/dev/null: not a page of one run"),
    (("trace", "--diff", "/dev/null", "c.html", "-o", "c.html"), "c.html is already the file of --diff"),
])
def test_bad_use_is_one_line(words, line, metronome, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = metronome(*words, status=2)
    assert line in done.err
    assert done.err.count("\n") == 1
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("ending", KINDS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_breaks_off_leaves_what_there_was(ending, error, tmp_path):
    whole, broken = tmp_path / f"whole.{ending}", tmp_path / f"broken.{ending}"
    with traced(traced_file(whole), TINY, ABOUT) as watcher:
        watcher.begin()
        watcher.take(CYCLES[:1000])
    with pytest.raises(error), traced(traced_file(broken), TINY, ABOUT) as watcher:
        watcher.begin()
        watcher.take(CYCLES[:1000])
        raise error
    assert whole.read_bytes() == broken.read_bytes()
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("ending", [*KINDS, "vcd", "fst"])
def test_a_run_that_never_begins_leaves_an_older_file(ending, tmp_path):
    """It was interrupted while the simulation was built, say."""
    file = tmp_path / f"trace.{ending}"
    file.write_text("mine")
    open_files = traced if ending in KINDS else waved
    arguments = (TINY, ABOUT) if ending in KINDS else (TINY,)
    with pytest.raises(KeyboardInterrupt), open_files(traced_file(file), *arguments):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == [file.name] and file.read_text() == "mine"


@pytest.mark.parametrize("ending", KINDS)
def test_a_full_disk_is_told_and_leaves_what_there_was_before(ending, tmp_path, monkeypatch):
    file = tmp_path / f"trace.{ending}"
    file.write_text("mine")
    monkeypatch.setattr("metronome.scripts.commands.tracing.os.fdopen", FullDisk)
    told = pytest.raises(UsageError, match=r"cannot write .*: No space left on device")
    with told, traced(traced_file(file), TINY, ABOUT) as watcher:
        watcher.begin()
        watcher.take(CYCLES)
    assert os.listdir(tmp_path) == [file.name]
    assert file.read_text() == "mine"


@on("TINY")
@pytest.mark.slow
def test_a_profile_adds_up_to_the_region(capsys, tmp_path):
    asked = ("psum", "--preset", "TINY", "--size", "16", "--profile", "--json")
    documents = []
    for name in ("run", "predict"):
        file = tmp_path / name
        assert command(name, *asked, file) == 0
        documents.append(json.loads(file.read_text()))
    document, predicted = documents
    profile = document["profile"]
    assert profile == predicted["profile"]
    assert profile["cycles"] == document["cycles"] == sum(cell["cycles"] for cell in profile["cells"])
    for part in ("lines", "functions", "warps"):
        assert sum(each["cycles"] for each in profile[part]) == document["cycles"]
        assert all(sum(each["uses"].values()) == each["cycles"] for each in profile[part])
        uses = Counter()
        for each in profile[part]:
            uses.update(each["uses"])
        assert uses["issued"] == document["committed"]
        assert {name: uses[name] for name in document["stalls"]} == document["stalls"]
    out = capsys.readouterr().out
    assert f"where the {document['cycles']} cycles of the region went" in out
    hottest = profile["lines"][0]
    assert hottest["source"].rpartition("/")[2] in out
    assert hottest["function"] in out
    assert sum(each["cycles"] for each in hottest["warps"]) == hottest["cycles"]
    assert "more lines: --json has them" in out


@pytest.mark.parametrize("schedulers", [2, 4])
def test_the_profile_of_several_schedulers_counts_issue_slots(capsys, tmp_path, schedulers):
    file = tmp_path / "a.json"
    asked = ("psum", "--preset", "TINY", "--warps", "4", "--set", f"schedulers={schedulers}", "--size", "16")
    assert command("predict", *asked, "--profile", "--json", file) == 0
    document = json.loads(file.read_text())
    profile, cycles = document["profile"], document["cycles"]
    uses = Counter()
    for cell in profile["cells"]:
        uses[cell["use"]] += cell["cycles"]
    assert profile["cycles"] == uses.total() == schedulers * cycles
    assert uses["issued"] == document["committed"]
    assert sum(count for use, count in uses.items() if use.startswith("nop_")) == document["nops"]
    assert {name: uses[name] for name in document["stalls"]} == document["stalls"]
    out = " ".join(capsys.readouterr().out.split())
    assert f"where the {schedulers * cycles} issue slots of the region went: {schedulers} x {cycles} cycles" in out


@on("TINY")
@pytest.mark.slow
def test_no_region_no_profile(capsys, tmp_path):
    source = written(tmp_path, "int main(void) { return 0; }\n", "a")
    assert command("run", source, "--preset", "TINY", "--profile") == 0
    assert "no profile: nothing was measured" in capsys.readouterr().out


@on("TINY")
@pytest.mark.more
def test_a_region_has_a_profile(capsys, tmp_path):
    source = written(tmp_path, "int main(void) { return 0; }\n", "a")
    assert command("run", source, "--preset", "TINY", "--profile", "--region", "whole") == 0
    assert "a.c:1" in capsys.readouterr().out
