"""The elements of a page: sections with paragraphs, figures and tables. The template determines their appearance."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Cell", "Column", "Figure", "Numbers", "Page", "Section", "Table"]


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A table of plain values, for download as CSV."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @property
    def csv(self) -> str:
        """The CSV, with a header line; an unknown value is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


@dataclasses.dataclass(frozen=True)
class Figure:
    """A chart. ``name`` is its id on the page and the name of its files; ``chart`` is Vega-Lite."""

    name: str
    title: str
    caption: str
    source: str
    chart: Mapping[str, Any]
    numbers: Numbers


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a table. Neighbours with the same ``group`` share it as a heading; a text column is left-aligned."""

    heading: str
    group: str = ""
    text: bool = False


@dataclasses.dataclass(frozen=True)
class Cell:
    """A value as shown, and the CSS class of its cell."""

    value: Any
    shown: str
    kind: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table. ``folded``: shown only on request, and in print."""

    name: str
    title: str
    caption: str
    source: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False

    @property
    def numbers(self) -> Numbers:
        """The values as CSV."""
        names = [f"{column.group}: {column.heading}" if column.group else column.heading for column in self.columns]
        return Numbers(names, [[cell.value for cell in row] for row in self.rows])

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The upper header row: texts and how many columns each spans; empty if there is none."""
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans if any(text for text, _ in spans) else []


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the page. ``items``, in order: a text is a paragraph, a sequence of texts is a list."""

    name: str
    title: str
    items: Sequence[str | Sequence[str] | Figure | Table]


@dataclasses.dataclass(frozen=True)
class Page:
    """The whole page."""

    title: str
    about: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]

    def figures(self) -> list[Figure]:
        """All figures, in order."""
        return [item for section in self.sections for item in section.items if isinstance(item, Figure)]

    def tables(self) -> list[Table]:
        """All tables, in order."""
        return [item for section in self.sections for item in section.items if isinstance(item, Table)]
