"""Policies compared with Table 18 of the Fermi study, and each warp's progress over time (its figures 46 to 49)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ....show.drawing import charts
from . import cells
from .data import Row, grouped
from .model import Column, Figure, Numbers, Section, Table
from .papers import papers

__all__ = ["rates_sections"]


def rates_sections(rows: Sequence[Row]) -> list[Section]:
    """The section of the runs whose rows have the progress of the warps; no section if there are none."""
    asked = [row for row in rows if row["config.progress"] and row["progress"]]
    if not asked:
        return []
    study = papers()["fermi"]
    items: list[str | Sequence[str] | Figure | Table] = [study["about"], study["differs"], _table(asked, study["ipc"])]
    for number, ((workload, machine), its) in enumerate(
        grouped(asked, lambda row: (row.workload, row.machine)).items(), 1
    ):
        items.append(_figure(f"progress-{number}", f"{workload}, {machine}" if machine else workload, its))
    return [Section("rates", "Rates, and the progress of each warp", items)]


def _table(rows: Sequence[Row], study: Mapping[str, float]) -> Table:
    """One row per policy, one column per workload on a machine, and the study's own IPC."""
    schemes = list(dict.fromkeys(row.issue for row in rows))
    columns = grouped(rows, lambda row: (row.workload, row.machine))
    ipc = {(row.issue, row.workload, row.machine): row["ipc"] for row in rows}
    return Table(
        "rates-ipc", "IPC under each policy",
        "Thread-instructions per cycle of the measured region. The last column is the Fermi study's Table 18, of a "
        "machine with 32 lanes; only the order within a column can be compared.", "docs/policies.md",
        [Column("policy", text=True), *(Column(workload, machine) for workload, machine in columns),
         Column("Table 18", "Fermi study")],
        [[cells.text(scheme), *(cells.ratio(ipc.get((scheme, *column)), 3) for column in columns),
          cells.ratio(study.get(scheme), 1)] for scheme in schemes],
    )


def _figure(name: str, title: str, rows: Sequence[Row]) -> Figure:
    values: list[dict[str, Any]] = []
    for row in rows:
        progress = json.loads(row["progress"])
        for warp, counts in enumerate(progress["warps"]):
            said = f"{row.issue}, warp {warp}: {counts[-1]} instructions in {progress['cycles'][-1]} cycles"
            values += [{"panel": row.issue, "line": f"warp {warp}", "x": cycle, "y": count, "said": said}
                       for cycle, count in zip(progress["cycles"], counts, strict=True)]
    return Figure(
        name, f"How far each warp has come: {title}",
        "Instructions that each warp has issued, over the cycles of the whole run. Each panel is a policy and a line a "
        "warp; a flat line is a warp that waits or has ended.", "docs/policies.md",
        charts.line_panels(values, x="cycle", y="instructions", legend="warp"),
        Numbers(("policy", "warp", "cycle", "instructions"),
                [(each["panel"], each["line"], each["x"], each["y"]) for each in values]),
    )
