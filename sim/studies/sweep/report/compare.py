"""A comparison of two sets of results: the runs they have in common, and the cycles of each run in both."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import DOWN, GREY, UP
from . import cells
from .data import ReportError, Row, Rows, varying
from .model import Column, Figure, Numbers, Section, Table

__all__ = ["PairedRuns", "compare_section", "join"]

#: Columns that follow from others, or only record the origin of a setting.
_NOT_ASKED = ("config.policies", "config.fetch_policies", "config.coordination", "config.set")
_COLOURS = {"fewer cycles in B": DOWN, "more cycles in B": UP, "the same": GREY}
_MOST_BARS = 600


@dataclasses.dataclass(frozen=True)
class PairedRuns:
    """Pairs of runs with the same settings except the columns in ``differing``, which differ in every pair."""

    pairs: Sequence[tuple[Row, Row]]
    differing: Mapping[str, tuple[Sequence[Any], Sequence[Any]]]
    only_first: int
    only_second: int


def _plain(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


def _values(rows: Sequence[Row], column: str) -> list[Any]:
    return list(dict.fromkeys(_plain(row[column]) for row in rows))


def join(first: Rows, second: Rows) -> PairedRuns:
    """Find the runs with the same settings in both sets.

    A column in which the two sets have no value in common is the subject of the comparison, and is not used to
    match runs.

    Raises
    ------
    ReportError
        If no run is in both sets, or several runs of one set match one of the other.
    """
    if not first.passed or not second.passed:
        empty = second if first.passed else first
        raise ReportError(f"{empty.folder}: no run there has passed: there is nothing to compare")
    asked = [name for name in first.passed[0].values if name.startswith("config.") and name not in _NOT_ASKED]
    values = {name: (_values(first.passed, name), _values(second.passed, name)) for name in asked}
    # dram has no latency: None in both sets does not count as a common value.
    differing = {
        name: (one, two) for name, (one, two) in values.items()
        if set(one) != set(two) and not set(one) & set(two) - {None}
    }
    columns = ["kernel", *(name for name in asked if name not in differing)]
    index: dict[Hashable, Row] = {}
    for rows, where in ((first, index), (second, {})):
        for row in rows.passed:
            key = tuple(_plain(row[name]) for name in columns)
            if key in where:
                raise ReportError(_ambiguous(rows, row, differing))
            where[key] = row
        others = where
    pairs = [(row, others[key]) for key, row in index.items() if key in others]
    if not pairs:
        raise ReportError(f"{first.folder} and {second.folder} have no run in common")
    return PairedRuns(pairs, differing, len(index) - len(pairs), len(others) - len(pairs))


def _ambiguous(rows: Rows, row: Row, differing: Mapping[str, Any]) -> str:
    varied = varying([each.values for each in rows.passed], differing)
    names = ", ".join(name.removeprefix("config.") for name in varied)
    return (
        f"{rows.folder}: several runs such as {row.workload}, {row.scheme} differ only in {names}: give --diff results "
        "that have one run each"
    )


def _listed(values: Sequence[Any]) -> str:
    texts = ["none" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)
             for value in values]
    return ", ".join(texts[:6]) + (" …" if len(texts) > 6 else "")


def compare_section(joined: PairedRuns, first: Rows, second: Rows) -> Section:
    """The comparison as a section of a page."""
    columns = [Column("what", text=True), Column("A", text=True), Column("B", text=True)]
    names = Table(
        "compare-settings", "Differences between A and B",
        "Settings without a common value in the two sets. All others are equal in the two runs of a pair.",
        f"A: {first.folder}; B: {second.folder}", columns,
        [[cells.text(name.removeprefix("config.")), cells.text(_listed(one)), cells.text(_listed(two))]
         for name, (one, two) in joined.differing.items()],
    )
    text = (
        f"Runs in both: {len(joined.pairs)}. In A only: {joined.only_first}. In B only: {joined.only_second}. With the "
        f"same number of cycles: {sum(one.cycles == two.cycles for one, two in joined.pairs)}."
    )
    same = "No setting differs. If cycles do, the reason is another version of the machine, a kernel or its inputs."
    return Section("compare", "A against B", [
        text, names if joined.differing else same, *_figure(joined), _table(joined),
    ])


def _figure(joined: PairedRuns) -> list[Figure]:
    if len(joined.pairs) > _MOST_BARS:
        return []
    machines = len({one.machine for one, _ in joined.pairs}) > 1
    values = []
    for one, two in joined.pairs:
        bar = f"{one.scheme}, {one.machine}" if machines else one.scheme
        ratio = two.cycles / one.cycles
        kind = "the same" if ratio == 1 else "fewer cycles in B" if ratio < 1 else "more cycles in B"
        values.append({
            "panel": one.workload, "bar": bar, "kind": kind, "value": ratio,
            "said": f"{one.workload}, {bar}: {ratio:.6g} times the cycles",
        })
    return [Figure(
        "compare-ratio", "Cycles in B divided by those in A",
        "A bar left of the dashed line (1): B takes fewer cycles. Each panel is a workload, a bar is a scheme.",
        "cycles of both results",
        charts.panel_bars(values, title="cycles in B / cycles in A", colours=_COLOURS, legend="cycles", rule=1.0,
                          own_axis=False),
        Numbers(("workload", "scheme", "ratio"), [(each["panel"], each["bar"], each["value"]) for each in values]),
    )]


def _table(joined: PairedRuns) -> Table:
    machines = len({one.machine for one, _ in joined.pairs}) > 1
    columns = [Column("workload", text=True), Column("scheme", text=True)]
    columns += [Column("machine of A", text=True)] * machines
    columns += [Column("A", "cycles"), Column("B", "cycles"), Column("B / A", "cycles"),
                Column("A", "IPC"), Column("B", "IPC"), Column("A", "errors"), Column("B", "errors")]
    return Table(
        "compare-runs", "Every run in both", "Cycles, IPC (thread-instructions in a cycle) and errors of the two runs.",
        "both results", columns,
        [[cells.text(one.workload), cells.text(one.scheme), *[cells.text(one.machine)] * machines,
          cells.count(one.cycles), cells.count(two.cycles), cells.ratio(two.cycles / one.cycles, 4),
          cells.ratio(one["ipc"], 3), cells.ratio(two["ipc"], 3), cells.count(one["errors"]),
          cells.count(two["errors"])] for one, two in joined.pairs],
    )
