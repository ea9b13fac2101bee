"""Bounds compared with the longest observed runs, from documents of ``metronome wcet --json`` (docs/wcet.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import SERIES
from . import cells
from .data import ReportError
from .general import MOST_BARS
from .model import Cell, Column, Figure, Numbers, Page, Section, Table

__all__ = ["bounds_page", "bounds_section", "read_bounds"]

_KINDS = {"bound": SERIES[0], "exact": SERIES[1], "longest run": SERIES[2]}
_ABOUT = (
    "A bound is the maximum number of cycles of a program from its launch to its end, for the inputs and the machine "
    "in the table, under the assumptions that the JSON lists. It is exact if the time is the same for all these "
    "inputs. The longest run is the slowest one that metronome wcet --observe found. The ratio is the bound divided "
    "by the longest run."
)


def read_bounds(files: Sequence[Path]) -> list[Mapping[str, Any]]:
    """Read the documents.

    Raises
    ------
    ReportError
        If one is not a document of bounds.
    """
    documents: list[Mapping[str, Any]] = []
    for file in files:
        try:
            document = json.loads(file.read_bytes())
        except OSError as error:
            raise ReportError(f"{file}: cannot be read: {error.strerror or error}") from None
        except ValueError:
            raise ReportError(f"{file}: not JSON: name a file that metronome wcet --json wrote") from None
        if not isinstance(document, dict) or not {"kernel", "config", "bound", "exact", "composition"} <= set(document):
            raise ReportError(f"{file} holds no bound: name a file that metronome wcet --json wrote")
        documents.append(document)
    return documents


def _program(document: Mapping[str, Any]) -> str:
    """The program with its size and the ranges of its inputs."""
    size = document["config"]["size"]
    return ", ".join([document["kernel"], *([] if size is None else [str(size)]), *document.get("ranges", [])])


def _inputs(document: Mapping[str, Any]) -> str:
    """The inputs for which the bound holds, in words."""
    holds = document.get("holds", {})
    return holds.get("inputs", "those of the command line (a file of an older version does not say)")


def _machine(document: Mapping[str, Any]) -> str:
    config = document["config"]
    return f"{config['warps']} x {config['threads']}, {config['issue']}, {config['prediction']}, {config['memory']}"


def _figure(documents: Sequence[Mapping[str, Any]]) -> list[Figure]:
    if 2 * len(documents) > MOST_BARS:
        return []
    values: list[dict[str, Any]] = []
    drawn: Counter[tuple[str, str]] = Counter()
    for document in documents:
        name = _program(document), _machine(document)
        drawn[name] += 1
        # The same bound again, from another file.
        again = f" ({drawn[name]})" if drawn[name] > 1 else ""
        kinds = [("exact" if document["exact"] else "bound", document["bound"])]
        kinds += [("longest run", document["observed_max"])] if document.get("observed_max") else []
        for kind, cycles in kinds:
            bar = f"{name[1]}{again}, {kind}"
            values.append({
                "panel": name[0], "bar": bar, "kind": kind, "value": cycles,
                "said": f"{name[0]}, {bar}: {cycles} cycles",
            })
    return [Figure(
        "bounds-cycles", "Bounds and the longest runs",
        "Each panel is a program with its size, on its own scale. A bar is a machine, with its warps and threads, "
        "its issue policy, prediction and memory.", "docs/wcet.md",
        charts.panel_bars(values, title="cycles", colours=_KINDS, legend="cycles of", bars_are="machine", form="~s"),
        Numbers(("program", "bar", "kind", "cycles"),
                [(each["panel"], each["bar"], each["kind"], each["value"]) for each in values]),
    )]


def _ratio(document: Mapping[str, Any]) -> Cell:
    """The ratio, marked as bad if it is below 1, which is a defect of Metronome."""
    ratio = document.get("ratio")
    return Cell(ratio, f"{ratio:.3f}", "bad") if ratio is not None and ratio < 1 else cells.ratio(ratio, 3)


def _table(documents: Sequence[Mapping[str, Any]]) -> Table:
    parts = list(dict.fromkeys(name for document in documents for name in document["composition"]))
    return Table(
        "bounds-table", "Composition of the bounds",
        "Bound and longest run in cycles, their ratio, the number of runs and of those on the hardware, and the "
        "parts of the bound.", "docs/wcet.md",
        [Column("program", text=True), Column("machine", text=True), Column("bound"),
         Column("exact for the inputs", text=True), Column("longest run"), Column("ratio"), Column("runs"),
         Column("on hardware"), Column("inputs", text=True),
         *(Column(name, "parts") for name in parts)],
        [[cells.text(_program(document)), cells.text(_machine(document)), cells.count(document["bound"]),
          cells.text("yes" if document["exact"] else "no"), cells.count(document.get("observed_max")), _ratio(document),
          cells.count(document.get("observed_runs")), cells.count(document.get("observed_on_hardware")),
          cells.text(_inputs(document)),
          *(cells.count(document["composition"].get(name, 0)) for name in parts)] for document in documents],
    )


def bounds_section(documents: Sequence[Mapping[str, Any]]) -> Section:
    """The section with these bounds."""
    return Section("bounds", "The longest time", [_ABOUT, *_figure(documents), _table(documents)])


def bounds_page(documents: Sequence[Mapping[str, Any]]) -> Page:
    """A page with only bounds."""
    return Page("Bounds", _ABOUT, [("bounds", str(len(documents)))], [
        Section("bounds", "The longest time", [*_figure(documents), _table(documents)])
    ])
