"""The report's section of forecasts: every number of it is that of a row."""

import pytest

from metronome.sim.studies.sweep.report.page import render, report
from tests.sim.studies.sweep.invented_results import FORECAST, OWN, invent
from tests.sim.studies.sweep.page_reader import Page, figure_problems

pytestmark = pytest.mark.slow
SEED = 20_261_124


def changed(row):
    """Forecasts: one of them there is not."""
    if row["kernel"] == "saxpy" and row["config.fetch"] == "gto":
        return row | {"forecast.problem": "the program reads a counter"}
    swas = row["config.mode"] == "swas"
    return row | {
        "forecast.cycles": row["cycles"] if swas else row["cycles"] * 3 // 4, "forecast.total_cycles": 1,
        "forecast.same_cycle": 1.0 if swas else 0.125, "forecast.same_place": 1.0 if swas else 0.5,
    }


def scheme_of(row):
    fetch = row["config.fetch"]
    return f"{row['config.mode']} " + (row["config.issue"] if fetch is None else f"{fetch}-{row['config.issue']}")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecast")
    results = invent(folder / "results", FORECAST, SEED, changed=changed)
    return Page(render(report(results))), results.table().to_pylist()


def test_the_table_has_each_forecast(page):
    page, rows = page
    lines = page.tables["forecast-runs"].lines()
    there = [row for row in rows if row["forecast.cycles"]]
    assert len(there) == 5 and len(lines) == 5
    for line, row in zip(lines, there, strict=True):
        measured, forecast, off, cycle, place = map(float, line[-5:])
        assert (line[0], measured, forecast) == (row["kernel"], row["cycles"], row["forecast.cycles"])
        assert off == pytest.approx(100 * (forecast / measured - 1))
        assert (cycle, place) == (100 * row["forecast.same_cycle"], 100 * row["forecast.same_place"])


def test_the_figure_has_the_share_of_each(page):
    figure = page[0].figures["forecast-cycle"]
    assert not figure_problems(figure, {
        f"{row['kernel']}, {scheme_of(row)}": 100 * row["forecast.same_cycle"] for row in page[1]
        if row["forecast.cycles"]
    })
    assert sorted(float(line[-1]) for line in figure.lines()) == [12.5, 12.5, 12.5, 100, 100]


def test_what_has_no_forecast_is_told_with_its_reason(page):
    assert "the program reads a counter" in page[0].text


def test_without_forecasts_no_section(tmp_path):
    page = Page(render(report(invent(tmp_path / "results", OWN, SEED))))
    assert not [name for name in page.items if name.startswith("forecast")]
