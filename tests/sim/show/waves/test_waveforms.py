"""Waveforms of the simulated SM, read back by others: every issue at its cycle."""

import csv
import itertools
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from vcdvcd import VCDVCD

from metronome.hdl.config_names import named
from metronome.scripts.cli import main
from metronome.sim.show.waves.savefile import GROUPS
from tests.sim.show.waves.test_formats import read

# A build of its own for each front end, with the library that dumps.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("waves")]

SM = "metronome_top.sm."


def command(*words):
    return main([str(word) for word in words])


def bare(name):
    """Without the range of its bits."""
    return re.sub(r" ?\[\d+:0\]$", "", name)


def traced(folder, *words, name="a"):
    files = [folder / f"{name}.{ending}" for ending in ("vcd", "fst", "gtkw", "csv")]
    asked = [word for file in files for word in ("-o", file)]
    assert command("trace", "psum", "--preset", "TINY", "--size", "8", *words, *asked) == 0
    return files


def issues(file, first, last):
    with file.open() as text:
        for row in csv.DictReader(text):
            if row["event"] in ("issue", "nop") and first <= int(row["cycle"]) <= last:
                yield int(row["cycle"]), int(row["warp"]), row["event"] == "nop"


class Signals:
    """Values over time: ``changes`` by name, each a list of (time, bits)."""

    def __init__(self, changes):
        self._changes = {name: iter([*each, (1 << 62, "")]) for name, each in changes.items()}
        self._next = {name: next(each) for name, each in self._changes.items()}
        self._now = dict.fromkeys(changes, "0")

    def at(self, time):
        for name in self._next:
            while self._next[name][0] <= time:
                self._now[name] = self._next[name][1]
                self._next[name] = next(self._changes[name])
        return {name: int(bits, 2) for name, bits in self._now.items()}


def seen(changes, partitions=1):
    """Cycle, warp, and whether it is a NOP, of each selection: what is there when a cycle has begun."""
    names = [[f"{SM}{named('frontend', partition)}.event.select_{part}" for part in ("valid", "warp", "nop")]
             for partition in range(partitions)]
    signals = Signals({name: changes[name] for name in ("metronome_top.cycle", *itertools.chain(*names))})
    for moment, level in changes["metronome_top.clk"]:
        if level == "0":
            now = signals.at(moment)
            for partition, (valid, warp, nop) in enumerate(names):
                if now[valid]:
                    yield now["metronome_top.cycle"], now[warp] * partitions + partition, bool(now[nop])


def vcd_changes(file):
    dump = VCDVCD(str(file))
    return {bare(name): dump[name].tv for name in dump.signals}


@pytest.mark.parametrize(("words", "partitions"), [
    (("--issue", "gtlo"), 1), (("--mode", "baseline", "--issue", "lrr"), 1),
    (("--issue", "gtlo", "--warps", "4", "--set", "schedulers=2"), 2),
])
@pytest.mark.parametrize("window", [(), ("--from", "100", "--to", "299")])
def test_every_issue_is_at_its_cycle(words, partitions, window, tmp_path):
    vcd, fst, gtkw, table = traced(tmp_path, *words, *window)
    expected = list(issues(table, *((100, 299) if window else (0, 1 << 40))))
    assert len(expected) > 50
    changes = vcd_changes(vcd)
    assert sorted(seen(changes, partitions)) == sorted(expected)
    scopes, compact, tables = read(fst)
    compact = {bare(name): each for name, each in compact.items()}
    assert sorted(seen(compact, partitions)) == sorted(expected)
    assert compact.keys() == changes.keys()
    assert "metronome_top.sm.frontend.buffers" in scopes
    assert any(text.startswith("Unit 12 ALU BRANCH ") for text in tables)
    shown = [line for line in gtkw.read_text().splitlines() if line.startswith("metronome_top.")]
    assert len(shown) > 30
    assert {bare(name) for name in shown} <= changes.keys()
    # None of the names is left out.
    missing = {name for _, names in GROUPS for name in names if not any(
        each.startswith(f"metronome_top.{name}") for each in changes)}
    assert not missing
    for partition in range(partitions):
        assert f"{SM}{named('frontend', partition)}.event.select_warp" in {bare(name) for name in shown}


def test_a_window_costs_only_its_cycles(tmp_path):
    whole = traced(tmp_path)[0].stat().st_size
    assert traced(tmp_path, "--from", "1000", "--to", "1099", name="b")[0].stat().st_size < whole / 4


def test_a_window_behind_the_end_is_told(tmp_path, capsys):
    assert command("trace", "psum", "--preset", "TINY", "--from", "5000000", "-o", tmp_path / "a.vcd") == 0
    assert "the waveform is empty: the run has only " in capsys.readouterr().err
    assert not vcd_changes(tmp_path / "a.vcd")["metronome_top.clk"]


def test_an_interrupted_waveform_is_whole_up_to_there(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int main(void) { for (volatile int i = 0; ; i++); }\n")
    command_line = [
        sys.executable, "-c", "import sys; from metronome.scripts.entry import main; sys.exit(main())",
        "trace", source, "--preset", "TINY", "-o", tmp_path / "x.vcd",
    ]
    with subprocess.Popen(command_line, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            dumps = [name for name in os.listdir(tmp_path) if name.endswith(".dump")]
            if dumps and (tmp_path / dumps[0]).stat().st_size > 20_000_000:
                process.send_signal(signal.SIGINT)
                break
            time.sleep(0.1)
        _, said = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in said
    cycles = [cycle for cycle, _, _ in seen(vcd_changes(tmp_path / "x.vcd"))]
    assert len(cycles) > 100
    assert cycles == sorted(cycles)
    assert sorted(os.listdir(tmp_path)) == ["a.c", "x.vcd"]
