"""Crouzet 2024 compared with our results: Tables I and II, figures 4 to 8, and the check that SWaS makes no error."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import FAMILIES
from . import cells
from .breakdown import breakdown
from .crouzet_text import text_table
from .data import Row, grouped
from .differences import differences
from .model import Cell, Column, Figure, Numbers, Section, Table
from .pairs import PREDICTIONS, Pairs, benchmark
from .papers import papers

__all__ = ["crouzet_sections"]

#: The order of the paper's policies in its figures.
_POLICIES = ("gtlrr", "gtlo", "lrr")
_PAPER = "crouzet"


def crouzet_sections(rows: Sequence[Row]) -> tuple[list[Section], set[str]]:
    """Return a section per machine that has runs of the paper's benchmarks in both modes, and the runs it shows."""
    known = papers()[_PAPER]["benchmarks"]
    ours = [row for row in rows if row.kernel in known and row.mode in ("baseline", "swas")]
    sections: list[Section] = []
    shown: set[str] = set()
    computed: list[str] = []
    for machine, alike in grouped(ours, lambda row: row.machine).items():
        both = {row.kernel for row in alike if row.mode == "swas"} & {
            row.kernel for row in alike if row.mode == "baseline"
        }
        pairs = Pairs([row for row in alike if row.kernel in both])
        if both:
            sections.append(_section(pairs, machine, f"{_PAPER}-{len(sections) + 1}" if sections else _PAPER))
            shown |= {row["run"] for row in pairs.rows}
            computed += [_caches(pairs.rows[0], machine), _instructions(pairs, machine)]
    return [*sections, *[differences(_PAPER, computed)] * bool(sections)], shown


def _caches(row: Row, machine: str) -> str:
    """The machine's caches and memory, in words."""
    sizes = [f"{row[f'config.{name}']} bytes" if row[f"config.{name}"] else "none"
             for name in ("icache_bytes", "dcache_bytes")]
    return (
        f"On {machine}: instruction cache {sizes[0]}, data cache {sizes[1]}, lines of {row['config.line_bytes']} "
        f"bytes, memory {row['config.memory']}."
    )


def _instructions(pairs: Pairs, machine: str) -> str:
    """The difference between the instruction counts, in words."""
    ratios = [row["committed"] / papers()[_PAPER]["benchmarks"][row.kernel]["committed"] for row in pairs.rows]
    return (
        f"On {machine} our benchmarks commit {min(ratios):.2f} to {max(ratios):.2f} times as many warp-instructions as "
        "the paper's."
    )


def _section(pairs: Pairs, machine: str, name: str) -> Section:
    config = pairs.rows[0]
    size = f"{config['config.warps']} warps of {config['config.threads']} threads"
    about = (
        f"{papers()[_PAPER]['cite']}. {len(pairs.rows)} runs on {machine}: {size}. A name such as lrr-gtlrr is the "
        "fetch policy, then the issue policy; SWaS has one policy for both. The paper's figures 4 to 8 exist only as "
        "pictures, so ours are compared with the numbers in its tables and its text."
    )
    figures = [
        _figure_4(pairs, name), _figure_5(pairs, name), *(_ratio_figure(pairs, name, issue) for issue in _POLICIES),
    ]
    return Section(name, f"Crouzet 2024: SWaS against the baseline ({machine})", [
        about, _table_1(pairs, name), _table_2(pairs, name), text_table(pairs, name),
        *(figure for figure in figures if figure.numbers.rows), *breakdown(_by_paper(pairs), name, machine),
        _no_errors(pairs, name),
    ])


def _by_paper(pairs: Pairs) -> list[Row]:
    """The rows with the paper's names, in its order."""
    order = {workload: place for place, (workload, _) in enumerate(pairs.workloads())}
    rows = sorted(pairs.rows, key=lambda row: order[row.workload])
    return [dataclasses.replace(row, workload=benchmark(row.kernel, row.workload)) for row in rows]


def _table_1(pairs: Pairs, name: str) -> Table:
    rows = []
    for workload, kernel in pairs.workloads():
        theirs = papers()[_PAPER]["benchmarks"][kernel]["committed"]
        ours = [row["committed"] for row in pairs.rows if row.workload == workload]
        rows.append([
            cells.text(benchmark(kernel, workload)), cells.text(kernel), cells.count(theirs), cells.span(ours),
            cells.ratio(ours[0] / theirs),
        ])
    return Table(
        f"{name}-table-1", "Benchmarks and their instructions",
        "Warp-instructions committed between the first and the last of the kernel, without inserted NOPs: the "
        "paper's number, ours, and ours divided by the paper's. If we give two numbers, they are the minimum and "
        "maximum of all runs; the ratio is that of the first run.",
        "Crouzet 2024, Table I",
        [Column("benchmark", text=True), Column("kernel here", text=True), Column("paper"), Column("ours"),
         Column("ours / paper")],
        rows,
    )


def _table_2(pairs: Pairs, name: str) -> Table:
    rows = []
    for workload, kernel in pairs.workloads():
        theirs = papers()[_PAPER]["benchmarks"][kernel]
        ratios: list[Cell] = []
        errors: list[Cell] = []
        for prediction in pairs.predictions:
            base = pairs.of("baseline", workload, prediction, "gtlrr", "lrr")
            swas = pairs.of("swas", workload, prediction, "gtlrr")
            ratios.append(cells.ratio(swas["ipc"] / base["ipc"] if base and swas and base["ipc"] else None))
            errors.append(cells.count(base["errors"] if base else None))
        rows.append([
            cells.text(benchmark(kernel, workload)), cells.ratio(theirs["ratio"]), *ratios,
            cells.count(theirs["errors"]), *errors,
        ])
    ours = [f"ours, {prediction}" for prediction in pairs.predictions]
    columns = [Column("benchmark", text=True)]
    columns += [Column(heading, "IPC SWaS / baseline") for heading in ("paper", *ours)]
    columns += [Column(heading, "errors of the baseline") for heading in ("paper", *ours)]
    return Table(
        f"{name}-table-2", "SWaS GTLRR against the baseline LRR-GTLRR",
        "The IPC of SWaS divided by that of the baseline (below 1: SWaS is slower), and the cycles in which the "
        "baseline issues a warp that its policy does not demand, except after cache misses and taken branches. The "
        "paper "
        "predicts branches as not taken.",
        "Crouzet 2024, Table II", columns, rows,
    )


def _pair_colours() -> dict[str, str]:
    return {
        f"{fetch}-{issue}": FAMILIES[x][y] for x, fetch in enumerate(_POLICIES) for y, issue in enumerate(_POLICIES)
    }


def _baseline_bars(pairs: Pairs, column: str, scale: float, unit: str) -> list[dict[str, Any]]:
    values = []
    for prediction in pairs.predictions:
        for workload, kernel in pairs.workloads():
            for row in pairs.baseline:
                if row.workload != workload or row.prediction != prediction or row[column] is None:
                    continue
                group, pair, value = benchmark(kernel, workload), f"{row.fetch}-{row.issue}", row[column] * scale
                if pair in _pair_colours():
                    values.append({
                        "group": group, "series": pair, "value": value, "panel": PREDICTIONS[prediction],
                        "prediction": prediction, "said": f"{group}, {prediction}, {pair}: {value:.6g} {unit}",
                    })
    return values


def _numbers(values: Sequence[dict[str, Any]], series: str, value: str) -> Numbers:
    return Numbers(
        ("prediction", "benchmark", series, value),
        [(each["prediction"], each["group"], each["series"], each["value"]) for each in values],
    )


def _figure_4(pairs: Pairs, name: str) -> Figure:
    values = _baseline_bars(pairs, "ipc", 1.0, "IPC")
    lanes = pairs.rows[0]["config.threads"]
    return Figure(
        f"{name}-figure-4", "IPC of the baseline",
        f"Thread-instructions committed per cycle (at most {lanes}: a warp has {lanes} lanes). A bar is a pair of "
        "policies: the colour is the fetch policy, its shade the issue policy.",
        "after Crouzet 2024, figure 4",
        charts.bars(values, series=_pair_colours(), title="thread-instructions per cycle",
                    legend="fetch policy-issue policy", groups_are="benchmark"),
        _numbers(values, "fetch-issue", "ipc"),
    )


def _figure_5(pairs: Pairs, name: str) -> Figure:
    values = _baseline_bars(pairs, "error_rate", 100.0, "%")
    return Figure(
        f"{name}-figure-5", "Scheduling errors of the baseline",
        "Cycles in which the baseline issues a warp that its policy does not demand, in % of all cycles, except "
        "after cache misses and taken branches. A bar is a pair of policies: the colour is the fetch policy, its "
        "shade the "
        "issue policy.",
        "after Crouzet 2024, figure 5",
        charts.bars(values, series=_pair_colours(), title="error rate, % of cycles", legend="fetch policy-issue policy",
                    groups_are="benchmark"),
        _numbers(values, "fetch-issue", "error rate, %"),
    )


def _ratios(pairs: Pairs, issue: str) -> list[dict[str, Any]]:
    values = []
    for prediction in pairs.predictions:
        for workload, kernel in pairs.workloads():
            swas = pairs.of("swas", workload, prediction, issue)
            for fetch in _POLICIES:
                base = pairs.of("baseline", workload, prediction, issue, fetch)
                if swas is None or base is None or not base["ipc"]:
                    continue
                group, value = benchmark(kernel, workload), swas["ipc"] / base["ipc"]
                values.append({
                    "group": group, "series": fetch, "value": value, "panel": PREDICTIONS[prediction],
                    "prediction": prediction,
                    "said": f"{group}, {prediction}, {issue} against {fetch}-{issue}: {value:.6g} times the IPC",
                })
    return values


def _ratio_figure(pairs: Pairs, name: str, issue: str) -> Figure:
    number = 6 + _POLICIES.index(issue)
    values = _ratios(pairs, issue)
    colours = {fetch: FAMILIES[place][1] for place, fetch in enumerate(_POLICIES)}
    return Figure(
        f"{name}-figure-{number}", f"SWaS {issue} against the baseline with {issue} issue",
        f"The IPC of SWaS with {issue} divided by that of the baseline that issues with {issue}; below the dashed line "
        "(1) SWaS is slower. A bar is the fetch policy of the baseline.",
        f"after Crouzet 2024, figure {number}",
        charts.bars(values, series=colours, title="IPC of SWaS / baseline", legend="fetch policy of the baseline",
                    groups_are="benchmark", rule=1.0, height=150),
        _numbers(values, "fetch policy of the baseline", "ratio"),
    )


def _no_errors(pairs: Pairs, name: str) -> Table:
    rows = []
    for row in pairs.swas:
        good = row["errors"] == 0 and row["discrepancies"] == 0
        rows.append([
            cells.text(benchmark(row.kernel, row.workload)), cells.text(row.issue), cells.text(row.prediction),
            cells.count(row.cycles), cells.count(row["errors"]), cells.count(row["discrepancies"]), cells.holds(good),
        ])
    good = sum(row[-1].value == "yes" for row in rows)
    return Table(
        f"{name}-no-errors", "SWaS keeps to its policy",
        f"Every run of SWaS must have 0 errors and 0 discrepancies: {good} of {len(rows)} have. A discrepancy is a "
        "cycle in which a warp issues that the policy does not demand; an error is a discrepancy that no cache miss "
        "or taken branch explains.",
        "Crouzet 2024, section VI.B.2",
        [Column("benchmark", text=True), Column("policy", text=True), Column("prediction", text=True), Column("cycles"),
         Column("errors"), Column("discrepancies"), Column("0 and 0", text=True)],
        rows, folded=True,
    )
