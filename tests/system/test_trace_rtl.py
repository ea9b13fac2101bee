"""Traces of hardware and prediction: the same file, byte for byte, and what it says adds up to the counters."""

import csv
import io
from collections import Counter

import pytest
from pyarrow import parquet

from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernel_folders import KERNELS
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import run
from metronome.sim.run.types import RunRequest
from metronome.sim.show.trace.about import About
from metronome.sim.show.trace.cycles import CycleStream
from metronome.sim.show.trace.kanata import KanataTrace
from metronome.sim.show.trace.page import HtmlTrace
from metronome.sim.show.trace.perfetto import PerfettoTrace
from metronome.sim.show.trace.profile import USES, Profile
from metronome.sim.show.trace.tables import CsvTrace, ParquetTrace
from tests.sim.show.trace.kanata_reader import read_kanata
from tests.sim.show.trace.perfetto_reader import tables
from tests.support.builds import BASE, TINY, on
from tests.support.tiers import some_more
from tests.system.scheme_builds import BASELINE, build_of, group_of
from tests.system.test_schedulers_rtl import MACHINES

pytestmark = pytest.mark.slow


def traced(make, config, request):
    """The result, and the file of each kind."""
    files = [io.BytesIO() for _ in range(5)]
    about, profile = About(name="a run", facts=[], image=request.launch.image), Profile(config)
    stream = CycleStream(config, [
        CsvTrace(config, files[0], about), ParquetTrace(config, files[1], about),
        KanataTrace(config, files[2], about), HtmlTrace(config, files[3], about),
        PerfettoTrace(config, files[4], about), profile,
    ])
    result = make(config, request, watcher=stream)
    stream.finish()
    return result, *(file.getvalue() for file in files), list(profile.cells())


INSIDE = "JOIN (SELECT ts AS first, ts + dur AS last FROM slice WHERE category = 'region')"


def used(cells):
    """Cycles by what they were used for."""
    return {use: sum(cell.cycles for cell in cells if cell.use == use) for use in USES}


def issues(text):
    """Cycle, warp, pc and, in a word, what else is said of each issue and NOP in the CSV file."""
    for row in csv.DictReader(io.StringIO(text.decode())):
        if row["event"] in ("issue", "nop"):
            yield int(row["cycle"]), int(row["warp"]), row["pc"].removeprefix("0x"), row["event"]


def shown(text):
    """The same in the file for Konata, sorted."""
    for entry in read_kanata(text.decode()).values():
        what = ("", "nop") if entry.flushed else (entry.labels[0][:8], "issue")
        yield from ((since, entry.thread, *what) for _, name, since, _ in entry.stages if name == "I")


def counted(text):
    """Of the region: events, states of warps by cycles, stalls by cycles."""
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    events, stalls, inside = Counter(), Counter(), False
    # By partition: the reason of its stall, and since when.
    stalled = {}
    for row in rows:
        cycle, event = int(row["cycle"]), row["event"]
        if event in ("region_begin", "region_end"):
            if inside:
                for reason, since in stalled.values():
                    stalls[reason] += cycle - since
            inside, stalled = event == "region_begin", {its: (reason, cycle) for its, (reason, _) in stalled.items()}
        if event in ("issue", "nop", "stall"):
            partition = row.get("partition", "0")
            reason, since = stalled.pop(partition, (None, 0))
            if inside and reason:
                stalls[reason] += cycle - since
            if event == "stall":
                stalled[partition] = row["detail"], cycle
        if inside:
            events[event, row["detail"]] += 1
    return events, stalls


def oracles(base, counters, partitions, *, of_two_schedulers):
    """Cycles in which an oracle picks another warp than the scheduler, or one of them nobody, in each partition."""
    if not of_two_schedulers:
        assert base.execute("SELECT count(*) FROM slice WHERE category = 'oracle'").fetchone()[0] == 0
        return
    begin, end = base.execute("SELECT ts, ts + dur FROM slice WHERE category = 'region'").fetchone()
    selections = base.execute("SELECT ts, track FROM slice WHERE category IN ('issue', 'nop')").fetchall()
    differ = Counter()
    for partition in range(partitions):
        selected = {cycle: track for cycle, track in selections if int(track.split()[1]) % partitions == partition}
        for name in ("osched1", "osched2"):
            track = name if partitions == 1 else f"{name} of partition {partition}"
            rows = base.execute("SELECT ts, dur, name FROM slice WHERE track = ? AND category = 'oracle'", (track,))
            picks = {cycle: warp for first, length, warp in rows for cycle in range(first, first + length)}
            differ[name] += sum(picks.get(cycle) != selected.get(cycle) for cycle in range(begin, end))
    assert counters["discrepancies"] == differ["osched1"] > 0
    assert counters["errors"] == differ["osched2"]


def asked(content, counters, partitions, *, of_two_schedulers=False):
    """Slices of the measured region, asked for in SQL, are what was counted."""
    with tables(content) as base:
        begin, end = base.execute("SELECT ts, ts + dur FROM slice WHERE category = 'region'").fetchone()
        assert end - begin == counters["cycles"]
        for category, counter in (("issue", "committed"), ("nop", "nops")):
            assert base.execute(
                f"SELECT count(*) FROM slice {INSIDE} WHERE category = ? AND ts >= first AND ts < last", (category,)
            ).fetchone()[0] == counters[counter]
        stalls = base.execute(f"""
            SELECT name, sum(min(ts + dur, last) - max(ts, first)) FROM slice {INSIDE}
            WHERE category = 'stall' AND (track = 'SM' OR track LIKE 'issue slot of partition _')
            AND ts < last AND ts + dur > first GROUP BY name
        """).fetchall()
        oracles(base, counters, partitions, of_two_schedulers=of_two_schedulers)
    assert dict(stalls) == {name: count for name, count in counters["stalls"].items() if count}


@pytest.mark.parametrize(("preset", "kernel"), [
    *(pytest.param(TINY, *each.values, marks=[on("TINY"), *each.marks]) for each in some_more(("psum", "diverge"), 1)),
    *(pytest.param(BASE, name, marks=[on("BASE"), pytest.mark.more if name == "vecadd" else pytest.mark.long])
      for name in KERNELS),
    *(pytest.param(MACHINES[name], kernel, marks=pytest.mark.long, id=f"{name}-{kernel}")
      for name, kernel in (("two", "psum"), ("two, for chips", "psum"), ("four of one warp", "diverge"))),
])
def test_the_same_file_from_both(preset, kernel):
    request = RunRequest(launch=prepare(kernel, None, 16, 1, preset), policy="gtlo", memory="dram")
    measured, *there = traced(run, preset, request)
    predicted, *here = traced(predict, preset, request)
    assert here == there
    assert predicted.result.total_cycles == measured.total_cycles
    adds_up(preset, measured, *there)


def adds_up(config, result, text, columns, pipeline, _, slices, cells):
    """What the files of a run say is what its counters have."""
    assert sorted(shown(pipeline)) == sorted(issues(text))
    table = parquet.read_table(io.BytesIO(columns))
    assert table.num_rows == text.count(b"\n") - 1
    assert table["cycle"].to_pylist() == sorted(table["cycle"].to_pylist())
    events, stalls = counted(text)
    counters = result.counters
    assert events["issue", ""] == counters["committed"]
    assert sum(count for (event, _), count in events.items() if event == "nop") == counters["nops"]
    assert events["miss", ""] == counters["icache_misses"]
    assert {name: count for name, count in stalls.items() if count} == {
        name: count for name, count in counters["stalls"].items() if count}
    asked(slices, counters, config.schedulers)
    uses = used(cells)
    assert sum(uses.values()) == config.schedulers * counters["cycles"]
    assert uses["issued"] == counters["committed"]
    assert sum(count for use, count in uses.items() if use.startswith("nop_")) == counters["nops"]
    assert {name: uses[name] for name in counters["stalls"] if name != "none"} == {
        name: count for name, count in counters["stalls"].items() if name != "none"}
    for warp, row in enumerate(result.region.as_json()["warps"]):
        its = [cell.cycles for cell in cells if (cell.warp, cell.use) == (warp, "issued")]
        assert sum(its) == row["instructions"]
    loads = sum(count for (event, detail), count in events.items() if event == "lookup" and detail.startswith("load_"))
    assert loads == result.region.loads.accesses


@pytest.mark.parametrize("config", [
    pytest.param(build_of(*BASELINE)[0], marks=on(group_of(*BASELINE)), id="baseline"),
    pytest.param(MACHINES["baseline"], marks=pytest.mark.long, id="baseline with two partitions"),
])
def test_two_schedulers(config):
    request = RunRequest(launch=prepare("psum", None, 16, 1, config), policy="lrr", fetch_policy="lrr")
    measured, text, _, pipeline, _, slices, cells = traced(run, config, request)
    assert config.oracles
    asked(slices, measured.counters, config.schedulers, of_two_schedulers=True)
    assert sum(cell.cycles for cell in cells) == config.schedulers * measured.counters["cycles"]
    assert used(cells)["issued"] == measured.counters["committed"]
    assert sorted(shown(pipeline)) == sorted(issues(text))
    events, stalls = counted(text)
    assert events["issue", ""] == measured.counters["committed"]
    assert {name: count for name, count in stalls.items() if count} == {
        name: count for name, count in measured.counters["stalls"].items() if count}
    assert sum(count for (event, _), count in events.items() if event == "nop") == 0
    assert events["fetch", ""] >= measured.counters["committed"]
