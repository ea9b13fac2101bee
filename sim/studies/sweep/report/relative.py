"""Every scheme relative to one of them, by workload and as a geometric mean."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import SERIES
from . import cells
from .data import ReportError, Row, grouped
from .general import MODES, MOST_BARS
from .model import Column, Figure, Numbers, Section, Table

__all__ = ["MEAN", "relative_section"]

MEAN = "geometric mean"
_AXIS = "speed-up"


@dataclasses.dataclass(frozen=True)
class _Speedups:
    """The runs of one machine. ``times``: scheme -> workload -> cycles of the baseline divided by those of the scheme.

    ``common``: the workloads that every scheme has.
    """

    machine: str
    times: Mapping[str, Mapping[str, float]]
    modes: Mapping[str, str]
    common: Sequence[str]

    def mean(self, scheme: str) -> float | None:
        """The geometric mean over the workloads that every scheme has; None if there are none."""
        logarithms = [math.log(self.times[scheme][workload]) for workload in self.common]
        return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def relative_section(rows: Sequence[Row], baseline: str) -> Section:
    """Return the speed-up of every scheme over ``baseline``: the name of a scheme, or of its issue policy.

    Raises
    ------
    ReportError
        If no scheme or several have that name, or if no other scheme has a workload in common with it.
    """
    scheme = _scheme(rows, baseline)
    found = [
        speedups for machine, alike in grouped(rows, lambda row: row.machine).items()
        if (speedups := _speedups(machine, alike, scheme)) is not None
    ]
    if not found:
        raise ReportError(f"--baseline {baseline}: no other scheme has a workload in common with {scheme}")
    about = (
        f"The speed-up is the cycles of {scheme} divided by those of the other scheme, for the same workload on the "
        "same machine. Above 1, the other scheme is faster."
    )
    figures = [figure for place, each in enumerate(found) for figure in _figure(each, scheme, _name(place))]
    return Section("relative", f"Schemes relative to {scheme}", [about, *figures, _table(found, scheme)])


def _scheme(rows: Sequence[Row], baseline: str) -> str:
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    named = list(dict.fromkeys(row.scheme for row in rows if row.issue == baseline))
    if baseline in schemes:
        return baseline
    if len(named) == 1:
        return named[0]
    problem = "several schemes issue with it" if named else "there is no such scheme"
    raise ReportError(f"--baseline {baseline}: {problem}: name one of {', '.join(named or schemes)}")


def _speedups(machine: str, rows: Sequence[Row], scheme: str) -> _Speedups | None:
    base = {row.workload: row.cycles for row in rows if row.scheme == scheme}
    times: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.scheme != scheme and row.workload in base:
            times.setdefault(row.scheme, {})[row.workload] = base[row.workload] / row.cycles
    common = [workload for workload in base if all(workload in its for its in times.values())]
    modes = {row.scheme: row.mode for row in rows}
    return _Speedups(machine, times, modes, common) if times else None


def _name(place: int) -> str:
    return f"relative-{place + 1}" if place else "relative"


def _values(speedups: _Speedups) -> list[dict[str, Any]]:
    """The bars: by workload, and the geometric mean as the last group."""
    workloads = list(dict.fromkeys(workload for its in speedups.times.values() for workload in its))
    values = []
    for group in (*workloads, MEAN):
        for scheme, its in speedups.times.items():
            value = speedups.mean(scheme) if group == MEAN else its.get(group)
            if value is not None:
                values.append({
                    "group": group, "series": scheme, "value": value, "panel": group, "bar": scheme,
                    "kind": speedups.modes[scheme], "said": f"{group}, {scheme}: {value:.6g} times as fast",
                })
    return values


def _figure(speedups: _Speedups, scheme: str, name: str) -> list[Figure]:
    """A figure with a colour for each scheme, or, if these are too many, with a panel for each workload."""
    values = _values(speedups)
    if len(values) > MOST_BARS:
        return []
    axis = f"{_AXIS} over {scheme}"
    if len(speedups.times) <= len(SERIES):
        series = dict(zip(speedups.times, SERIES, strict=False))
        chart = charts.bars([{**each, "panel": ""} for each in values], series=series, title=axis, legend="scheme",
                            groups_are="workload", rule=1.0)
    else:
        chart = charts.panel_bars(values, title=axis, colours=MODES, legend="mode", rule=1.0, own_axis=False)
    return [Figure(
        name, f"Speed-up over {scheme} on {speedups.machine}",
        f"Cycles of {scheme} divided by those of each other scheme; the dashed line (1) is {scheme}. The last group is "
        f"the geometric mean of the workloads that all schemes have: {len(speedups.common)}.",
        "cycles of the results", chart,
        Numbers(("workload", "scheme", _AXIS), [(each["group"], each["series"], each["value"]) for each in values]),
    )]


def _table(found: Sequence[_Speedups], scheme: str) -> Table:
    return Table(
        "relative-means", f"Speed-up over {scheme}, for each scheme",
        "The geometric mean of the workloads that all schemes of the machine have, and the least and greatest speed-up "
        "among all workloads.", "cycles of the results",
        [Column("machine", text=True), Column("scheme", text=True), Column("workloads"), Column(MEAN), Column("least"),
         Column("greatest")],
        [[cells.text(each.machine), cells.text(name), cells.count(len(its)), cells.ratio(each.mean(name), 3),
          cells.ratio(min(its.values()), 3), cells.ratio(max(its.values()), 3)]
         for each in found for name, its in each.times.items()],
    )
