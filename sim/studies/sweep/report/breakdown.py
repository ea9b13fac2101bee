"""Breakdown of the cycles: the kinds of issue, and the reasons for cycles without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metronome.hdl.layouts.counters import StallReason

from ....show.drawing import charts
from . import cells
from .data import ISSUED, STALLS, Row, grouped
from .model import Column, Figure, Numbers, Table

__all__ = ["PARTS", "breakdown"]

#: Column of a row -> its label.
PARTS = {"committed": "committed", "nops": "NOP"} | {name: name.removeprefix("stalls.") for name in STALLS}
#: The maximum number of bars in a readable figure.
_MOST_BARS = 400


def breakdown(rows: Sequence[Row], name: str, machine: str = "") -> list[str | Figure | Table]:
    """A figure for each prediction, and a table of all; on one machine, or with the machines' names in the bars."""
    rows = [row for row in rows if row.cycles]
    if not rows:
        return []
    items: list[str | Figure | Table] = []
    groups = grouped(rows, lambda row: row.prediction)
    for prediction, alike in groups.items():
        if len(alike) <= _MOST_BARS:
            suffix = f"-{prediction}" if len(groups) > 1 else ""
            items.append(_figure(alike, f"{name}-breakdown{suffix}", prediction if len(groups) > 1 else "", machine))
    return [*items, _table(rows, name)]


def _shares(rows: Sequence[Row], prediction: str, machine: str) -> list[dict[str, Any]]:
    values = []
    for row in rows:
        scheme = row.scheme.removesuffix(f" {prediction}") if prediction else row.scheme
        bar = scheme if machine else ", ".join(dict.fromkeys([scheme, row.machine]))
        for order, column in enumerate([*ISSUED, *STALLS]):
            if row[column]:
                value = 100 * row[column] / row.slots
                values.append({
                    "panel": row.workload, "bar": bar, "part": PARTS[column], "order": order, "value": value,
                    "said": f"{row.workload}, {bar}, {PARTS[column]}: {value:.6g} %",
                })
    return values


def _figure(rows: Sequence[Row], name: str, prediction: str, machine: str) -> Figure:
    values = _shares(rows, prediction, machine)
    meaning = {reason.name.lower(): reason.about.replace("`", "") for reason in StallReason if reason}
    used = [PARTS[column] for column in STALLS if any(value["part"] == PARTS[column] for value in values)]
    reasons = "; ".join(f"{part}: {meaning[part]}" for part in used)
    several = any(row["config.sms"] > 1 for row in rows)
    return Figure(
        name, "Where the cycles go" + (f", prediction {prediction}" if prediction else ""),
        "All cycles of each run, in %: those that commit a warp-instruction, those that issue a NOP, and those that "
        "issue nothing, by reason. With several schedulers, each has all cycles. "
        + "With several SMs, so has each SM, but it counts only those of its own region. " * several +
        f"{reasons[:1].upper() + reasons[1:]}.",
        "docs/counters.md", charts.stacks(values, names=PARTS, title="% of cycles"),
        Numbers(("workload", "scheme", "part", "% of cycles"),
                [(each["panel"], each["bar"], each["part"], each["value"]) for each in values]),
    )


def _table(rows: Sequence[Row], name: str) -> Table:
    used = [column for column in PARTS if any(row[column] for row in rows)]
    machines = len({row.machine for row in rows}) > 1
    columns = [Column("workload", text=True), Column("scheme", text=True)]
    columns += [Column("machine", text=True)] * machines
    columns += [Column("cycles"), *(Column(PARTS[column]) for column in used)]
    return Table(
        f"{name}-breakdown-table", "Where the cycles go, in cycles",
        "Cycles of each run, and how many of them commit a warp-instruction, issue a NOP, or issue nothing for the "
        "reason named.", "docs/counters.md", columns,
        [[cells.text(row.workload), cells.text(row.scheme), *[cells.text(row.machine)] * machines,
          cells.count(row.cycles), *(cells.count(row[column]) for column in used)] for row in rows],
        folded=True,
    )
