"""``metronome bench``: the simulation's speed and the time of its build, and the golden model's speed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from ..output.tables import new_table
from ..process.backend import Backend
from ..process.progress import Report
from .bench_cases import Case

__all__ = ["golden_line", "measure_simulations", "simulations_table"]


def measure_simulations(backend: Backend, cases: Sequence[Case], repeat: int, progress: Report) -> dict[str, Any]:
    """Measure, and return the fields for the JSON."""
    figures = {case.name: _measure(backend, case, repeat, progress) for case in cases}
    progress("golden model")
    golden = [backend.iss_speed() for _ in range(repeat)]
    return {"presets": figures, "iss_instructions_per_second": statistics.median(golden), "iss_runs": golden}


def _measure(backend: Backend, case: Case, repeat: int, progress: Report) -> dict[str, Any]:
    """Return the figures of one preset. The first run builds; every run counts for the speed."""
    results = []
    for _ in range(repeat):
        results.append(backend.run(
            case.machine.config, case.request, lambda step: progress(f"{case.name}: {step}"), lambda line: None,
            by_profile=False,
        ))
        case.require_passed(results[-1])
    speeds = [result.cycles_per_second for result in results]
    return {
        "cycles_per_second": statistics.median(speeds),
        "elaborate_seconds": results[0].elaborate_seconds,
        "build_seconds": results[0].build_seconds,
        "total_cycles": results[0].total_cycles,
        "python_share": statistics.median(
            result.python_seconds / result.sim_seconds if result.sim_seconds else 0.0 for result in results
        ),
        "runs": speeds,
    }


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value else "cached"


def simulations_table(document: Mapping[str, Any]) -> Table:
    """Return the table. Its column Python is the memory model plus switching between it and the simulated SM."""
    table = new_table("preset", ">size", ">cycles", ">cycles/s", ">cycles/loop", ">Python", ">elaborate s", ">build s",
                      title=document["kernel"])
    for preset, figure in document["presets"].items():
        table.add_row(
            preset, str(document["sizes"][preset]), str(figure["total_cycles"]), f"{figure['cycles_per_second']:.0f}",
            f"{figure['cycles_per_loop']:.0f}", f"{100 * figure['python_share']:.0f} %",
            _seconds(figure["elaborate_seconds"]), _seconds(figure["build_seconds"]),
        )
    return table


def golden_line(document: Mapping[str, Any]) -> str:
    """Return a line with the golden model's speed."""
    return (f"Golden model: {document['iss_instructions_per_second']:.0f} warp-instructions/s, "
            f"{document['iss_instructions_per_loop']:.0f}/loop (psort, PAPER, 1024).")
