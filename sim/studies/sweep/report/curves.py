"""The page of ``metronome characterize``: measurements beside Table 7 and figures 16 to 25 of the Fermi study.

All numbers come from the JSON document (:mod:`sim.studies.characterize.document`), so page and JSON always agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import SERIES
from . import cells
from .model import Cell, Column, Figure, Numbers, Page, Section, Table

__all__ = ["curve_page"]

_SOURCE = "docs/characterize.md"
_NO_SIMULATOR = (
    "Figure 18 has no counterpart: it is figure 17 on a simulator that differs from the hardware. Here the computed "
    "cycles are those of the hardware, which --engine rtl measures."
)
_STRIDE = re.compile(r"(local load|local store), stride (\d+)")


def curve_page(document: Mapping[str, Any], title: str) -> Page:
    """The page of one document, whose ``repeated`` may be empty."""
    return Page(
        f"Latencies of {title}, measured from outside",
        "Micro-benchmarks of this machine beside those of the Fermi study (references.md, section 5). The study's own "
        "numbers are of an NVIDIA GPU with two schedulers: only the shapes can be compared.",
        [("machine", title), ("all numbers as configured", "yes" if document["passed"] else "no")],
        [_numbers(document), _scheduler(document), _memory(document), _variation(document)],
    )


def _numbers(document: Mapping[str, Any]) -> Section:
    return Section("numbers", "Latencies, and cycles per instruction (table 7)", [
        _latencies(document["latencies"]), _table_7(document["table_7"]), _cpi(document["cpi"]),
    ])


def _table_7(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The types of instructions of the study's table, in its order."""
    return Table(
        "table-7", "Cycles per instruction by type (table 7)",
        "Cycles that one more instruction takes, with one warp. Each arithmetic instruction of Reg RaW, and each load, "
        "needs the result of the one before.", _SOURCE,
        [Column("type", text=True), Column("meaning", text=True), Column("instructions", text=True),
         Column("this machine"), Column("Fermi", text=True)],
        [[cells.text(each["type"]), cells.text(each["about"]), cells.text(each["instructions"]),
          _plain(each["measured"]), cells.text(each["fermi"])] for each in rows],
    )


def _latencies(latencies: Sequence[Mapping[str, Any]]) -> Table:
    """One row per number, as the command prints them."""
    return Table(
        "latencies", "Measured and configured numbers",
        "The micro-benchmarks measure each number without knowledge of the configuration. A number that the "
        "configuration does not determine has no counterpart.", _SOURCE,
        [Column("number", text=True), Column("measured"), Column("configured"), Column("unit", text=True),
         Column("agrees", text=True)],
        [[cells.text(each["name"]), _plain(each["measured"]), _plain(each["config"]), cells.text(each["unit"]),
          cells.UNKNOWN if each["config"] is None else cells.holds(not each["differs"])] for each in latencies],
    )


def _cpi(cpi: Sequence[Mapping[str, Any]]) -> Table:
    """One row per class, for one warp and for the largest number of warps measured."""
    by_place = {(each["class"], each["warps"]): each for each in cpi}
    counts = sorted({warps for _, warps in by_place})
    shown = list(dict.fromkeys((counts[0], counts[-1]))) if counts else []
    forms = [(warps, form) for warps in shown for form in ("independent", "dependent")]
    return Table(
        "cpi", "Cycles per instruction by class",
        "Cycles that one more instruction takes in a row of 8 to 16, in the slowest warp. A dependent instruction "
        "needs the result of the previous one.", _SOURCE,
        [Column("class", text=True), Column("instructions", text=True),
         *(Column(form, _counted(warps)) for warps, form in forms)],
        [[cells.text(name), cells.text(by_place[name, counts[0]]["about"]),
          *(_plain(by_place[name, warps][form]) for warps, form in forms)]
         for name in dict.fromkeys(each["class"] for each in cpi)],
    )


def _plain(value: float | None) -> Cell:
    """A number with as many decimals as it has."""
    return cells.UNKNOWN if value is None else Cell(value, f"{value:g}")


def _scheduler(document: Mapping[str, Any]) -> Section:
    return Section("scheduler", "Warp scheduler (figures 16 to 19)", [
        _curves(
            document, "figure-16", "Additions in one warp (figure 16)", [("alu", False), ("alu", True)],
            "Execution time of 1 to 16 additions. On Fermi one more takes 6 cycles, or 18 if it needs the result "
            "before.",
        ),
        _by_warp(document),
        _NO_SIMULATOR,
        _slowest(document),
    ])


def _memory(document: Mapping[str, Any]) -> Section:
    items: list[Any] = [_curves(
        document, "figure-21", "Local memory in one warp (figure 21)",
        [("local_load", True), ("local_store", False)],
        "Execution time of 1 to 16 accesses. On Fermi one more load takes 26 cycles, one more store 30.",
    )]
    items.append(_conflicts(document))
    items.append(_curves(
        document, "figure-23", "Global memory in one warp (figure 23)", [("load_miss", True), ("store", False)],
        "Execution time of 1 to 16 accesses, loads each of a new line. On Fermi one more load takes 370 cycles, one "
        "more store 34.",
    ))
    return Section("memory", "Local and global memory (figures 21 to 23)", items)


def _variation(document: Mapping[str, Any]) -> Section:
    repeated = document["repeated"]
    if not repeated:
        return Section("variation", "Repeated runs (figures 20, 24 and 25)", [
            "Figures 20, 24 and 25 are of repeated runs: add --repeat 8.",
        ])
    about = {
        "mad_add dependent 2": ("figure-20", "figure 20", "On Fermi 94 of 100 runs had the same times."),
        "load_miss dependent 2": ("figure-24", "figure 24", "On Fermi 8 runs differed a little, with one trend."),
        "store_line independent 8": ("figure-25", "figure 25", "On Fermi warps differed by up to 100 cycles."),
    }
    return Section("variation", "Repeated runs (figures 20, 24 and 25)", [
        _spread(*about[name], piece=name, runs=each["cycles"]) for name, each in repeated.items() if name in about
    ])


def _found(document: Mapping[str, Any], name: str, dependent: bool) -> list[Mapping[str, Any]]:
    return [each for each in document["curves"] if each["class"] == name and each["dependent"] == dependent]


def _curves(
    document: Mapping[str, Any], name: str, title: str, forms: Sequence[tuple[str, bool]], caption: str
) -> Figure:
    values = []
    for form, dependent in forms:
        line = f"{form}, {'dependent' if dependent else 'independent'}"
        (curve,) = [each for each in _found(document, form, dependent) if each["warps"] == 1]
        said = f"{line}: {max(curve['cycles'][-1])} cycles for {curve['instructions'][-1]}"
        values += [{"panel": "", "line": line, "x": count, "y": max(cycles), "said": said}
                   for count, cycles in zip(curve["instructions"], curve["cycles"], strict=True)]
    return Figure(
        name, title, caption, _SOURCE, charts.line_panels(values, x="instructions", y="cycles", legend="sequence of"),
        Numbers(("row", "instructions", "cycles"), [(each["line"], each["x"], each["y"]) for each in values]),
    )


def _two(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The curves of a multiplication and a dependent addition."""
    return _found(document, "mad_add", True)


def _bars(
    name: str, title: str, caption: str, values: Sequence[Mapping[str, Any]], axis: str, legend: str, groups_are: str,
) -> Figure:
    names = list(dict.fromkeys(each["series"] for each in values))
    series = {each: SERIES[place % len(SERIES)] for place, each in enumerate(names)}
    return Figure(
        name, title, caption, _SOURCE,
        charts.bars(values, series=series, title=axis, legend=legend, groups_are=groups_are),
        Numbers((legend, "group", axis), [(each["series"], each["group"], each["value"]) for each in values]),
    )


def _counted(warps: int) -> str:
    return f"{warps} {'warp' if warps == 1 else 'warps'}"


def _warps(curve: Mapping[str, Any]) -> str:
    return _counted(curve["warps"])


def _by_warp(document: Mapping[str, Any]) -> Figure:
    values = [
        {"panel": "", "group": str(warp), "series": _warps(curve), "value": cycles,
         "said": f"{curve['warps']} warps, warp {warp}: {cycles} cycles"}
        for curve in _two(document) for warp, cycles in enumerate(curve["cycles"][1])
    ]
    return _bars(
        "figure-17", "Two dependent instructions, warp by warp (figure 17)",
        "A multiply-add and an addition that needs it, in each warp. On Fermi up to 4 warps take as long as one; "
        "with 8 and 16 all take longer. With --curves there are more numbers of warps.", values, "cycles",
        "warps that run", "warp",
    )


def _slowest(document: Mapping[str, Any]) -> Figure:
    curves = _two(document)
    (alone,) = [max(each["cycles"][1]) for each in curves if each["warps"] == 1]
    values = []
    for curve in curves:
        more = 100 * (max(curve["cycles"][1]) / alone - 1)
        values.append({"panel": "", "group": _warps(curve), "series": "slowest warp", "value": more,
                       "said": f"{_warps(curve)}: {more:.1f} per cent longer"})
    return _bars(
        "figure-19", "How much longer the slowest warp takes than one alone (figure 19)",
        "Of figure 17. On Fermi 0 per cent with 2 and 4 warps, and at most 50 per cent with 16.", values, "% longer",
        "time of", "warps that run",
    )


def _conflicts(document: Mapping[str, Any]) -> Figure | str:
    values = []
    for each in document["latencies"]:
        match = _STRIDE.match(each["name"])
        if match and each["measured"] is not None:
            kind, stride = match.groups()
            values.append({"panel": "", "group": stride, "series": kind, "value": each["measured"],
                           "said": f"{kind}, stride {stride}: {each['measured']:g} cycles"})
    if not values:
        return "Figure 22 has no counterpart: no strides were measured."
    return _bars(
        "figure-22", "Bank conflicts in local memory (figure 22)",
        "Cycles of each access in a row, by the distance of neighbouring lanes in words. On Fermi time grows with the "
        "conflicts, up to stride 32.", values, "cycles", "access", "stride in words",
    )


def _spread(name: str, study: str, note: str, *, piece: str, runs: Sequence[Sequence[int]]) -> Figure:
    """Minimum, first and maximum value of each warp over all runs."""
    values = []
    for warp, cycles in enumerate(zip(*runs, strict=True)):
        low, high = min(cycles), max(cycles)
        values.append({
            "panel": piece, "group": str(warp), "series": "first run", "shape": "cycles", "low": low,
            "value": cycles[0], "high": high, "said": f"warp {warp}: {cycles[0]} cycles, {low} to {high} in all runs",
        })
    return Figure(
        name, f"{piece}, {len(runs)} runs ({study})",
        "Cycles, by the number of the warp: a point is the first run, and a line spans the minimum and the maximum. "
        f"{note}",
        _SOURCE,
        charts.point_panels(values, series={"first run": SERIES[0]}, legend="point", shapes=None,
                            groups_are="warp", values_are="cycles"),
        Numbers(("warp", "least", "first", "most"),
                [(each["group"], each["low"], each["value"], each["high"]) for each in values]),
    )
