"""Cost and benefit of ordered accesses to the data cache: Huangfu 2017, figures 12 to 15."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import SERIES
from . import cells
from .data import Row, grouped
from .model import Column, Figure, Numbers, Section, Table
from .papers import papers

__all__ = ["reorder_sections"]

#: The schemes in the order of the paper, and one that the paper does not have: name -> (policy, channels).
SCHEMES: Mapping[str, tuple[str, str]] = {
    "loose round robin": ("lrr", "none"), "pure round robin": ("prr", "none"), "order from a list": ("lrr", "ordered"),
    "free channels": ("lrr", "free"),
}
_BASE, *_OTHERS = SCHEMES
#: Miss rates, and their columns.
_RATES: Mapping[str, str] = {"estimated": "estimated_misses", "measured": "lines.loads.misses"}
#: Memory, bytes and ways of the data cache.
_Size = tuple[str, int, int]
#: The settings that the four runs of a group share.
_GROUP = ("kernel", "config.type", "config.size", "config.preset", "config.memory", "config.dcache_bytes",
          "config.dcache_ways")


def _scheme(row: Row) -> str | None:
    """The scheme of a run, or None."""
    mine = row.issue, row["config.channels"]
    return next((name for name, scheme in SCHEMES.items() if scheme == mine), None)


def _sizes(row: Row) -> _Size:
    return row["config.memory"], row["config.dcache_bytes"], row["config.dcache_ways"]


def _cache(size: _Size) -> str:
    return f"{size[0]}, {size[1] // 1024} KiB, {size[2]} ways"


def reorder_sections(rows: Sequence[Row]) -> list[Section]:
    """The section of programs with a run of each scheme on one data cache; no section if there are none."""
    complete: dict[_Size, dict[str, dict[str, float]]] = {}
    for its in grouped(rows, lambda row: tuple(row[name] for name in _GROUP)).values():
        cycles = {scheme: row.cycles for row in its if (scheme := _scheme(row)) is not None}
        if set(cycles) == set(SCHEMES) and its[0].cycles:
            times = {name: cycles[name] / cycles[_BASE] for name in _OTHERS}
            complete.setdefault(_sizes(its[0]), {})[its[0].kernel] = times
    if not complete:
        return []
    paper = papers()["huangfu"]
    items: list[str | Sequence[str] | Figure | Table] = [
        paper["about"], *(_figure(size, complete[size]) for size in _smallest(complete)), _table(complete, paper),
        paper["differs"], *_rates(rows, paper),
    ]
    return [Section("reorder", "Cost of the order of accesses", items)]


def _rates(rows: Sequence[Row], paper: Mapping[str, Any]) -> list[Figure | Table]:
    """Miss rates estimated before the runs with a list, and the miss rates of the runs."""
    listed = [row for row in rows if row.values.get("estimated_misses") is not None and row["lines.loads.accesses"]]
    if not listed:
        return []
    by_size = grouped(listed, _sizes)
    return [*(_rates_figure(size, by_size[size]) for size in _smallest(by_size)), _rates_table(by_size, paper)]


def _rate(row: Row, column: str) -> float:
    return float(row[column] / row["lines.loads.accesses"])


def _rates_figure(size: _Size, rows: Sequence[Row]) -> Figure:
    values: list[dict[str, Any]] = [
        {"group": row.kernel, "series": name, "value": _rate(row, column), "panel": "",
         "said": f"{row.kernel}, {name}: {row[column]} of {row['lines.loads.accesses']} loads"}
        for row in rows for name, column in _RATES.items()
    ]
    return Figure(
        f"reorder-misses-{size[0]}", f"Loads that miss, with a list: {_cache(size)}",
        "The rate was computed from the list before the run, and counted in the run.", "docs/analyze.md",
        charts.bars(values, series=dict(zip(_RATES, SERIES, strict=False)), title="misses per load", legend="rate",
                    groups_are="kernel"),
        Numbers(
            ("kernel", "rate", "misses in loads"), [(each["group"], each["series"], each["value"]) for each in values]
        ),
    )


def _rates_table(by_size: Mapping[_Size, Sequence[Row]], paper: Mapping[str, Any]) -> Table:
    rows = []
    for size in sorted(by_size):
        its = by_size[size]
        means = [sum(_rate(row, column) for row in its) / len(its) for column in _RATES.values()]
        wrong = sum(row["estimated_misses"] != row["lines.loads.misses"] for row in its)
        rates = [cells.share(mean, 1) for mean in means]
        rows.append([cells.text(_cache(size)), cells.count(len(its)), *rates, cells.count(wrong)])
    return Table(
        "reorder-rates", "Rates of misses by data cache", paper["rates"], "docs/analyze.md",
        [Column("memory, data cache", text=True), Column("runs"), Column("estimated", "misses in loads, mean"),
         Column("measured", "misses in loads, mean"), Column("runs with other counts")],
        rows,
    )


def _smallest(sizes: Iterable[_Size]) -> list[_Size]:
    """The smallest cache for each memory."""
    return [min(size for size in sizes if size[0] == memory) for memory in dict.fromkeys(size[0] for size in sizes)]


def _mean(times: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, times)) / len(times))


def _figure(size: _Size, times: Mapping[str, Mapping[str, float]]) -> Figure:
    values: list[dict[str, Any]] = [
        {"group": kernel, "series": name, "value": its[name], "panel": "", "said": f"{kernel}, {name}: {its[name]:.3f}"}
        for kernel, its in times.items() for name in _OTHERS
    ]
    return Figure(
        f"reorder-cycles-{size[0]}", f"Cycles against loose round robin: {_cache(size)}",
        "1 is as many cycles of the measured region as loose round robin without channels.", "docs/memory.md",
        charts.bars(values, series=dict(zip(_OTHERS, SERIES, strict=False)), title="cycles / cycles of round robin",
                    legend="scheme", groups_are="kernel", rule=1.0),
        Numbers(("kernel", "scheme", "times"), [(each["group"], each["series"], each["value"]) for each in values]),
    )


def _table(complete: Mapping[_Size, Mapping[str, Mapping[str, float]]], paper: Mapping[str, Any]) -> Table:
    rows = []
    for size in sorted(complete):
        its = complete[size]
        means = {name: _mean([times[name] for times in its.values()]) for name in _OTHERS}
        worst = max(its, key=lambda kernel: its[kernel][_OTHERS[1]])
        rows.append([
            cells.text(_cache(size)), *(cells.ratio(means[name], 3) for name in _OTHERS),
            cells.ratio(means[_OTHERS[0]] / means[_OTHERS[1]], 3),
            cells.text(f"{worst}, {its[worst][_OTHERS[1]]:.3f}"),
        ])
    return Table(
        "reorder-means", "Means over the programs, by data cache", paper["table"], "docs/memory.md",
        [Column("memory, data cache", text=True),
         *(Column(name, "times the cycles of loose round robin") for name in _OTHERS),
         Column("pure round robin / list"), Column("slowest with a list", text=True)],
        rows,
    )
