"""``metronome report``: the results of a sweep as one HTML page."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metronome.sim.machine.user_paths import user_path

from ..options.common import input_file
from ..output.outputs import STDOUT, refuse_shared, require_writable, warn_of_others, write_file
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress

if TYPE_CHECKING:
    from metronome.sim.studies.sweep.results import Results

__all__ = ["report"]


def _counted(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def report(
    results: Annotated[
        str | None, typer.Argument(metavar="RESULTS", help="The results folder of `metronome sweep`.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="The page, or - for standard output; default: RESULTS.html in the current folder.",
        ),
    ] = None,
    diff: Annotated[
        str | None,
        typer.Option(metavar="OTHER", help="Compare with these results run by run: RESULTS is A, OTHER is B."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="SCHEME",
            help="Draw the speed-up of all schemes over this one: an issue policy, or a scheme as the page names it.",
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option("--bounds", metavar="FILE", help="A file written by `metronome wcet --json FILE`. Repeatable."),
    ] = None,
) -> int:
    """Make one HTML page of the results of a sweep, with figures and tables. It needs no network.

    Runs of the papers' experiments are shown beside the papers' numbers. An unfinished sweep can be reported, too.
    Without RESULTS, the page shows only --bounds.
    """
    # Imported late: the plotting library takes a second to import.
    from metronome.sim.studies.sweep.report.page import ReportError, bounds_page, compare, read_bounds, render
    from metronome.sim.studies.sweep.report.page import report as make
    from metronome.sim.studies.sweep.results import Results, ResultsError

    files = [input_file("--bounds", name) for name in bounds or []]
    if results is None and (not files or diff is not None):
        raise UsageError("name the RESULTS of a sweep, or the files of bounds: --bounds FILE")
    if diff is not None and files:
        raise UsageError("--bounds has no place on a page that compares: leave out --diff")
    if baseline is not None and (results is None or diff is not None):
        raise UsageError("--baseline compares the schemes of one sweep: name its RESULTS, and leave out --diff")
    folders = [user_path(name) for name in (results, diff) if name is not None]
    named = f"{folders[0].resolve().name}.html" if folders else "bounds.html"
    try:
        found = [Results.open(folder) for folder in folders]
        target = None
        if output != STDOUT:
            target = require_writable(output if output is not None else named, "--output", ".html", ".htm")
            refuse_shared([("--output", target)], [("--bounds", file) for file in files])
            for each in found:
                if each.owns(target):
                    raise UsageError(f"--output {target.name}: it would be among the results in {each.folder}: "
                                     "name another file")
        with show_progress() as progress:
            progress("read the results")
            documents = read_bounds(files)
            _warn(found, dict(zip(files, documents, strict=True)))
            if not found:
                page = bounds_page(documents)
            else:
                page = make(found[0], documents, baseline) if diff is None else compare(*found)
            text = render(page, progress)
    except (ResultsError, ReportError) as error:
        raise UsageError(str(error)) from None
    if target is None:
        sys.stdout.write(text)
        return Exit.PASSED
    write_file(target, text.encode())
    print(f"{target.name}: {_counted(page.figures(), 'figure')}, {_counted(page.tables(), 'table')}")
    return Exit.PASSED


def _warn(found: Sequence[Results], documents: Mapping[Path, Mapping[str, Any]]) -> None:
    """Warn of results and bounds that were made by another version."""
    for each in found:
        warn_of_others(str(each.folder), each.origins())
    for file, document in documents.items():
        warn_of_others(file.name, [document.get("origin")])
