"""Forecasts made before each run, compared with the run: the columns ``forecast.*`` (docs/predict.md)."""

from __future__ import annotations

from collections.abc import Sequence

from ....show.drawing import charts
from . import cells
from .data import Row
from .general import MODES, MOST_BARS
from .model import Column, Figure, Numbers, Section, Table

__all__ = ["forecast_sections"]

_ABOUT = (
    "A schedule is forecast from the issue policy, the latencies and each warp's instructions, as if every warp always "
    "had its next instruction. For swas this, with the resulting NOPs and misses, is the prediction. In the other "
    "modes a warp whose buffer is empty is passed over, and from then on the forecast is wrong."
)


def forecast_sections(rows: Sequence[Row]) -> list[Section]:
    """The section of the runs that have a forecast; no section if there are none."""
    asked = [row for row in rows if row["config.forecast"]]
    there = [row for row in asked if row["forecast.cycles"]]
    if not asked:
        return []
    items: list[str | Sequence[str] | Figure | Table] = [_ABOUT]
    without = [f"{row.workload}, {row.scheme}: {row['forecast.problem'] or 'no measured region'}"
               for row in asked if not row["forecast.cycles"]]
    if without:
        items += [f"{len(without)} runs have no forecast:", without]
    if there:
        items += [*_figure(there), _table(there)]
    return [Section("forecast", "Accuracy of the forecast", items)]


def _bar(row: Row, machines: bool) -> str:
    return f"{row.scheme}, {row.machine}" if machines else row.scheme


def _figure(rows: Sequence[Row]) -> list[Figure]:
    if len(rows) > MOST_BARS:
        return []
    machines = len({row.machine for row in rows}) > 1
    values = [{
        "panel": row.workload, "bar": _bar(row, machines), "kind": row.mode, "value": 100 * row["forecast.same_cycle"],
        "said": f"{row.workload}, {_bar(row, machines)}: {100 * row['forecast.same_cycle']:.6g} %",
    } for row in rows]
    return [Figure(
        "forecast-cycle", "Issues in the predicted cycle",
        "The share of forecast issues that the warp made in exactly that cycle. Each panel is a "
        "workload; a bar is a scheme, its colour the mode of coordination.", "docs/predict.md",
        charts.panel_bars(values, title="% of the issues forecast", colours=MODES, legend="mode", own_axis=False),
        Numbers(("workload", "scheme", "mode", "percent"),
                [(each["panel"], each["bar"], each["kind"], each["value"]) for each in values]),
    )]


def _table(rows: Sequence[Row]) -> Table:
    machines = len({row.machine for row in rows}) > 1
    return Table(
        "forecast-runs", "Forecast and measured",
        "Cycles of the measured region, forecast and measured, and the error of the forecast in %. Then the share of "
        "forecast issues with the right warp in the same cycle, and at the same place in the order of "
        "issue.", "docs/predict.md",
        [Column("workload", text=True), Column("scheme", text=True), *[Column("machine", text=True)] * machines,
         Column("measured", "cycles"), Column("forecast", "cycles"), Column("error, %", "cycles"),
         Column("same cycle", "issues"), Column("same place", "issues")],
        [[cells.text(row.workload), cells.text(row.scheme), *[cells.text(row.machine)] * machines,
          cells.count(row.cycles), cells.count(row["forecast.cycles"]),
          cells.change(100 * (row["forecast.cycles"] / row.cycles - 1)),
          cells.share(row["forecast.same_cycle"], 1), cells.share(row["forecast.same_place"], 1)] for row in rows],
    )
