"""``metronome characterize`` on a machine with several schedulers: when each warp starts (Fermi study, tables 5, 6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from ..output.outputs import write_file
from ..output.tables import new_table
from ..process.terminal import Console

__all__ = ["tell_starts"]

_CASES = (("common", "common case (table 5)"), ("exception", "another order (table 6)"))


def _rows(document: dict[str, Any], case: str) -> list[list[int | list[int]]]:
    """Return the cycles in which warps start, each with the warps of every scheduler."""
    starts: Sequence[int] = document[case]["starts"]
    count = document["schedulers"]
    return [
        [cycle, *([warp for warp, time in enumerate(starts) if time == cycle and warp % count == p]
                  for p in range(count))]
        for cycle in sorted(set(starts))
    ]


def _headings(document: dict[str, Any]) -> list[str]:
    return [f"scheduler {p}" for p in range(document["schedulers"])]


def tell_starts(document: dict[str, Any], title: str, page: Path | None, *, shown: bool) -> None:
    """Write the page, if there is one; print a table for each case if ``shown``."""
    if page is not None:
        write_file(page, _page(document, title))
    if shown:
        _print(Console(), escape(title), document)


def _print(console: Console, title: str, document: dict[str, Any]) -> None:
    for case, name in _CASES:
        if document[case] is not None:
            table = new_table(">cycle", *_headings(document), title=f"{title}\nstarting times of the warps, {name}")
            for cycle, *warps in _rows(document, case):
                table.add_row(str(cycle), *(_warps(each) for each in warps))
            console.print(table)
    console.print(f"{document['common']['runs']} of {document['runs']} runs start their warps in the order of the "
                  "common case", highlight=False)


def _warps(warps: int | list[int]) -> str:
    assert isinstance(warps, list)
    return ", ".join(map(str, warps))


def _page(document: dict[str, Any], title: str) -> bytes:
    """Return the tables as HTML."""
    from metronome.sim.studies.sweep.report import cells
    from metronome.sim.studies.sweep.report.model import Cell, Column, Page, Section, Table
    from metronome.sim.studies.sweep.report.page import render

    tables = [
        Table(
            f"starts-{case}", f"Starting times of the warps, {name}",
            "The cycle of each warp's first instruction after its start; the first is 0.", "docs/characterize.md",
            [Column("cycle"), *(Column(heading, text=True) for heading in _headings(document))],
            [[Cell(cycle, str(cycle)), *(cells.text(_warps(each)) for each in warps)]
             for cycle, *warps in _rows(document, case)],
        )
        for case, name in _CASES if document[case] is not None
    ]
    runs = f"{document['common']['runs']} of {document['runs']} runs start their warps in the order of the common case."
    return render(Page(
        f"Starting times of {title}", "As in tables 5 and 6 of the Fermi study (references.md), whose GPU has two "
        "schedulers.", [("machine", title)], [Section("starts", "Starting times (tables 5 and 6)", [runs, *tables])],
    )).encode()
