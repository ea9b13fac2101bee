"""Speed-ups over a baseline are computed anew from the results; and every chart has titles in words."""

import json
import statistics

import pytest

from metronome.sim.show.drawing.palette import SERIES
from metronome.sim.studies.sweep.report.curves import curve_page
from metronome.sim.studies.sweep.report.data import ReportError, load
from metronome.sim.studies.sweep.report.page import bounds_page, report
from metronome.sim.studies.sweep.report.relative import MEAN, relative_section
from tests.sim.studies.sweep.invented_bounds import bound
from tests.sim.studies.sweep.invented_results import FORECAST, OWN, PAPER, PTA, invent
from tests.sim.studies.sweep.test_report_curves import RUNS, document
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

THREE = """
preset = "TINY"
kernel = ["psort", "saxpy", "vecadd"]
size = 8
mode = "swas"
issue = ["lrr", "gto", "gtlo"]
"""
BOTH = """
preset = "TINY"
kernel = "psort"
size = 8
latency = [10, 40]
[[block]]
mode = "baseline"
fetch = ["lrr", "gto", "gtlo"]
issue = ["lrr", "gto", "gtlo"]
[[block]]
mode = "swas"
issue = ["lrr", "gto"]
"""


def speedups(section):
    """Figure -> its values, as (workload, scheme) -> speed-up."""
    figures = [item for item in section.items if hasattr(item, "chart")]
    return [{row[:2]: row[2] for row in map(tuple, figure.numbers.rows)} for figure in figures]


def test_speed_ups_and_their_mean(tmp_path):
    # The fifth run, saxpy with gto, is missing: the means are over the other two workloads.
    rows = load(invent(tmp_path / "results", THREE, 7, missing=(4,))).passed
    cycles = {(row.kernel, row.issue): row.cycles for row in rows}
    section = relative_section(rows, "lrr")
    (found,) = speedups(section)
    wanted = {(kernel, issue): cycles[kernel, "lrr"] / its for (kernel, issue), its in cycles.items() if issue != "lrr"}
    for issue in ("gto", "gtlo"):
        wanted[MEAN, issue] = statistics.geometric_mean([wanted[kernel, issue] for kernel in ("psort", "vecadd")])
    assert found == pytest.approx(wanted)
    assert [group for group, _ in found][-2:] == [MEAN, MEAN], "the mean is the last group"
    table = section.items[-1]
    assert [[cell.value for cell in row][1:4] for row in table.rows] == [
        ["gto", 2, pytest.approx(wanted[MEAN, "gto"])], ["gtlo", 3, pytest.approx(wanted[MEAN, "gtlo"])],
    ]


def test_a_machine_each_and_many_schemes(tmp_path):
    rows = load(invent(tmp_path / "results", BOTH, 8)).passed
    section = relative_section(rows, "swas lrr")
    found = speedups(section)
    assert len(found) == 2, "a figure for each latency"
    assert all(len(each) == 10 * 2 and len({scheme for _, scheme in each}) > len(SERIES) for each in found)
    with pytest.raises(ReportError, match="lrr: several schemes issue with it: name one of baseline lrr-lrr"):
        relative_section(rows, "lrr")
    with pytest.raises(ReportError, match="no such scheme: name one of"):
        relative_section(rows, "fifo")
    alone = [row for row in rows if row.scheme == "swas lrr"]
    with pytest.raises(ReportError, match="no other scheme has a workload in common with swas lrr"):
        relative_section(alone, "swas lrr")


def untitled(chart):
    """The axes and legends of a chart, of Vega-Lite, that have no title."""
    found = []
    for part in (chart, chart.get("spec", {}), *chart.get("layer", ()), *chart.get("spec", {}).get("layer", ())):
        for channel, encoding in part.get("encoding", {}).items():
            if channel not in ("x", "y", "color", "shape", "fill") or "datum" in encoding:
                continue
            hidden = encoding.get("legend", "") is None
            if not encoding.get("title") and not hidden:
                found.append((channel, encoding.get("field")))
    return found


def test_bounds_and_characterize_have_titles():
    pages = [bounds_page([bound("psort", 64, "lrr", 46_000, 33_000)]), curve_page(document(RUNS), "TINY")]
    assert [untitled(figure.chart) for page in pages for figure in page.figures()] == [[]] * 10


@pytest.mark.parametrize("text", some_more([THREE, OWN, FORECAST, PTA, PAPER], 1),
                         ids=["three", "own", "forecast", "magalhaes", "crouzet"])
def test_axes_and_legends_have_titles(text, tmp_path):
    results = invent(tmp_path / "results", text, 9)
    page = report(results, baseline="gto" if text is THREE else None)
    assert page.figures()
    for figure in page.figures():
        assert untitled(json.loads(json.dumps(figure.chart))) == [], figure.name
