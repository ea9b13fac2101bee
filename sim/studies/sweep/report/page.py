"""The report as one self-contained HTML page that includes all drawings and numbers."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from ....build.origin import line, origin
from ....show.drawing.charts import draw
from ....show.drawing.palette import css_variables, themed
from ..results import Results
from .bounds import bounds_page, bounds_section, read_bounds
from .compare import compare_section, join
from .crouzet import crouzet_sections
from .data import ReportError, Row, Rows, load
from .foretold import forecast_sections
from .general import general_section, settings_items, status_section, table_of_runs
from .magalhaes import magalhaes_sections
from .model import Figure, Page, Section, Table
from .rates import rates_sections
from .relative import relative_section
from .reorder import reorder_sections

__all__ = ["ReportError", "bounds_page", "compare", "read_bounds", "render", "report"]

_TEMPLATES = Path(__file__).with_name("templates")
#: A table of all runs with more rows than this is folded.
_FEW = 40
#: The minimum width of a drawing, in pixels, at which its text is readable.
_READABLE = 560


def report(results: Results, bounds: Sequence[Mapping[str, Any]] = (), baseline: str | None = None) -> Page:
    """The page of one folder of results, and of ``bounds`` (:func:`sim.studies.sweep.report.bounds.read_bounds`).

    ``baseline``: the scheme to which the others are compared (:func:`.relative.relative_section`).

    Raises
    ------
    ResultsError, ReportError
        If there is nothing to report, or no such baseline.
    """
    rows = load(results)
    sections = [status_section(rows)]
    sections += [] if baseline is None else [relative_section(rows.passed, baseline)]
    sections += _papers(rows.passed)
    sections += forecast_sections(rows.passed)
    sections += rates_sections(rows.passed)
    sections += reorder_sections(rows.passed)
    sections += [bounds_section(bounds)] if bounds else []
    if rows.passed:
        runs = table_of_runs(rows.passed, "all-runs", "Every run that has passed", folded=len(rows.passed) > _FEW)
        sections.append(Section("all", "All runs", [*settings_items(rows.passed), runs]))
    return Page(rows.about["title"], rows.about["about"], _facts(rows), sections)


def _papers(rows: Sequence[Row]) -> list[Section]:
    """Return the sections of the papers that have rows here, and one of all other rows. No paper has several SMs."""
    sections: list[Section] = []
    shown: set[str] = set()
    for of_paper in (crouzet_sections, magalhaes_sections):
        found, its = of_paper([row for row in rows if row["config.sms"] == 1])
        sections += found
        shown |= its
    others = [row for row in rows if row["run"] not in shown]
    return [*sections, general_section(others)] if others else sections


def compare(first: Results, second: Results) -> Page:
    """The page that compares two folders of results.

    Raises
    ------
    ResultsError, ReportError
        If one has nothing to report, or if they have no run in common.
    """
    one, two = load(first), load(second)
    joined = join(one, two)
    about = f"A: {one.about['title']} ({one.folder}). B: {two.about['title']} ({two.folder})."
    return Page("A against B", about, [*_facts(one, "A: "), *_facts(two, "B: ")], [
        compare_section(joined, one, two),
        status_section(one, "runs-a", " of A"), status_section(two, "runs-b", " of B"),
    ])


def _facts(rows: Rows, prefix: str = "") -> list[tuple[str, str]]:
    facts = [("results", rows.folder), ("experiment", str(rows.about["name"])), ("made by", "; ".join(rows.makers))]
    return [(f"{prefix}{name}", fact) for name, fact in facts if fact]


def _uri(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"


def _standalone(drawing: str) -> str:
    """A drawing for use outside the page: on white, with its own width."""
    return drawing.replace("><", '><rect width="100%" height="100%" fill="white"/><', 1)


def _inline(drawing: str, figure: Figure) -> str:
    """A drawing for this page, in its colours, with a text alternative for screen readers.

    On a narrow screen it keeps a width at which its text is readable.
    """
    width = re.search(r' width="([\d.]+)"', drawing)
    least = min(float(width[1]), _READABLE) if width else _READABLE
    begin = f'<svg role="group" aria-labelledby="{figure.name}-title" style="min-width: {least:.0f}px" '
    return themed(drawing).replace("<svg ", begin, 1)


def render(page: Page, note: Callable[[str], None] = lambda step: None) -> str:
    """Return the HTML; ``note`` is called with the name of each drawing."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["figure"] = lambda item: isinstance(item, Figure)
    environment.tests["table"] = lambda item: isinstance(item, Table)
    environment.tests["text"] = lambda item: isinstance(item, str)
    figures, tables = page.figures(), page.tables()
    drawings = {}
    for figure in figures:
        note(f"draw {figure.name}")
        drawings[figure.name] = draw(figure.chart)
    csvs = {figure.name: figure.numbers.csv for figure in figures} | {table.name: table.numbers.csv for table in tables}
    numbers = {figure.name: number for number, figure in enumerate(figures, 1)}
    numbers |= {table.name: number for number, table in enumerate(tables, 1)}
    return environment.get_template("page.html.jinja").render(
        page=page, foot=line(origin()), numbers=numbers, light=css_variables(dark=False), dark=css_variables(dark=True),
        csvs={name: _uri("text/csv;charset=utf-8", text) for name, text in csvs.items()},
        inline={figure.name: _inline(drawings[figure.name], figure) for figure in figures},
        svgs={name: _uri("image/svg+xml", _standalone(drawing)) for name, drawing in drawings.items()},
    ) + "\n"
