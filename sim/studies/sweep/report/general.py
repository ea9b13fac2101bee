"""Content of every page: the failed and missing runs, any other results, and the table of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import SERIES
from . import cells
from .breakdown import breakdown
from .data import Row, Rows, varying
from .model import Column, Figure, Numbers, Section, Table

__all__ = ["MODES", "MOST_BARS", "general_section", "settings_items", "status_section", "table_of_runs"]

#: The maximum number of bars in a figure; the table has them all.
MOST_BARS = 600
#: The maximum number of missing runs that are named.
_MOST_MISSING = 12
MODES = {"swas": SERIES[0], "baseline": SERIES[1], "vortex": SERIES[2]}


def status_section(rows: Rows, name: str = "runs", what: str = "") -> Section:
    """The number of runs, and the reasons for those that failed."""
    ended = len(rows.passed) + len(rows.failed) + len(rows.unmeasured)
    text = f"{ended} of {rows.asked} runs have ended; {ended - len(rows.failed)} passed, {len(rows.failed)} failed."
    items: list[str | Sequence[str] | Figure | Table] = [text]
    if rows.missing:
        items.append(
            f"{len(rows.missing)} missing: these have no result yet, and the same metronome sweep continues with "
            "them. Figures and tables show the results so far."
        )
        more = len(rows.missing) - _MOST_MISSING
        items.append([*rows.missing[:_MOST_MISSING], *[f"and {more} more"] * (more > 0)])
    if rows.failed:
        items.append(Table(
            f"{name}-failed", "Failed runs", "Runs that are in no figure and no other table, and the reason for each.",
            rows.folder,
            [Column("workload", text=True), Column("scheme", text=True), Column("machine", text=True),
             Column("reason", text=True)],
            [[cells.text(row.workload), cells.text(row.scheme), cells.text(row.machine),
              cells.text(row["reason"] or row["status"] or "no reason given", "bad")] for row in rows.failed],
        ))
    if rows.unmeasured:
        names = "; ".join(f"{row.workload}, {row.scheme}" for row in rows.unmeasured)
        items.append(f"{len(rows.unmeasured)} without a measured region, so without cycles: {names}.")
    return Section(name, "Runs" + what, items)


#: The most important settings; the table has all others.
_FIRST = ("kernel", "type", "size", "seed", "preset", "warps", "threads", "mode", "fetch", "issue", "prediction",
          "memory")
#: The maximum number of values listed for a setting.
_MOST_VALUES = 12


def _settings(rows: Sequence[Row]) -> dict[str, str]:
    """Setting -> its values in all rows, in words."""
    settings = {}
    for column in rows[0].values:
        name = column.removeprefix("config.")
        if column != "kernel" and (name == column or column in _NO_AXES):
            continue
        values = list(dict.fromkeys(str(row[column]) for row in rows if row[column] is not None))
        more = len(values) - _MOST_VALUES
        if values and values != [""]:
            settings[name] = ", ".join([*values[:_MOST_VALUES], *[f"and {more} more"] * (more > 0)])
    return settings


def settings_items(rows: Sequence[Row]) -> list[str | Sequence[str] | Figure | Table]:
    """The settings of the runs: the most important in a line, and all in a table."""
    settings = _settings(rows)
    return [
        "Settings of the runs: " + "; ".join(f"{name} {settings[name]}" for name in _FIRST if name in settings) + ".",
        Table(
            "settings", "Every setting of the runs that have passed",
            "All values of each option of metronome sweep and of each field of the machine, in the order of the sweep.",
            "docs/command-line.md", [Column("setting", text=True), Column("values", text=True)],
            [[cells.text(name), cells.text(values)] for name, values in settings.items()], folded=True,
        ),
    ]


def table_of_runs(rows: Sequence[Row], name: str, title: str, *, folded: bool) -> Table:
    """All runs, with the columns in which they differ."""
    machines = len({row.machine for row in rows}) > 1
    body = []
    for row in rows:
        body.append([
            cells.text(row.workload), cells.text(row.scheme), *[cells.text(row.machine)] * machines,
            cells.count(row.cycles), cells.ratio(row["ipc"], 3), cells.count(row["errors"]),
            cells.count(row["discrepancies"]), cells.share(row["nops"], row.slots),
        ])
    return Table(
        name, title,
        "Cycles of the measured region; IPC: thread-instructions in a cycle; discrepancies: cycles in which the warp "
        "that issues is not the one that the policy demands; errors: discrepancies not caused by a cache miss or a "
        "taken branch (unknown in a build without oracles); NOPs in % of the cycles.", "docs/counters.md",
        [Column("workload", text=True), Column("scheme", text=True), *[Column("machine", text=True)] * machines,
         Column("cycles"), Column("IPC"), Column("errors"), Column("discrepancies"), Column("NOPs")],
        body, folded=folded,
    )


def _bars(rows: Sequence[Row], column: str) -> list[dict[str, Any]]:
    machines = len({row.machine for row in rows}) > 1
    values = []
    for row in rows:
        bar = f"{row.scheme}, {row.machine}" if machines else row.scheme
        if row[column] is not None:
            values.append({
                "panel": row.workload, "bar": bar, "kind": row.mode, "value": row[column],
                "said": f"{row.workload}, {bar}: {row[column]:.6g} {column}",
            })
    return values


def _figure(rows: Sequence[Row], column: str, axis: str, title: str, caption: str) -> list[Figure]:
    values = _bars(rows, column)
    if not values or len(values) > MOST_BARS:
        return []
    return [Figure(
        f"general-{column}", title, caption, "docs/counters.md",
        charts.panel_bars(values, title=axis, colours=MODES, legend="mode", form="~s" if column == "cycles" else "~r"),
        Numbers(("workload", "scheme", "mode", column),
                [(each["panel"], each["bar"], each["kind"], each["value"]) for each in values]),
    )]


def general_section(rows: Sequence[Row]) -> Section:
    """Results that do not belong to a paper."""
    axes = varying([row.values for row in rows], [
        name for name in rows[0].values if name == "kernel" or (name.startswith("config.") and name not in _NO_AXES)
    ])
    names = ", ".join(name.removeprefix("config.") for name in axes) or "nothing"
    items: list[str | Sequence[str] | Figure | Table] = [f"{len(rows)} runs. They differ in: {names}."]
    if len(rows) > MOST_BARS:
        items.append(f"More than {MOST_BARS} runs are not drawn; the table has them.")
    items += _figure(rows, "cycles", "cycles", "Cycles of each run",
                     "Cycles of the measured region (fewer are better). Each panel is a workload and has its own "
                     "scale; a bar is a scheme, its colour the mode of coordination.")
    items += _figure(rows, "ipc", "thread-instructions per cycle", "IPC of each run",
                     "Thread-instructions committed per cycle. Each panel is a workload and has its own scale; "
                     "a bar is a scheme, its colour the mode of coordination.")
    items += breakdown(rows, "general")
    return Section("general", "Results", items)


#: Columns that follow from others: the policies in the build, and a second name of the mode.
_NO_AXES = ("config.policies", "config.fetch_policies", "config.coordination", "config.set")
