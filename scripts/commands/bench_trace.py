"""``metronome bench --trace``: the cost of writing a trace, relative to the same simulation without one."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from metronome.sim.show.trace.formats import FIGURES, FORMATS, WAVEFORMS

from ..output.tables import new_table
from ..process.backend import Backend
from ..process.progress import Report
from .bench_cases import Case
from .tracing import TraceFile, traced

__all__ = ["measure_traces", "traces_table"]

#: Without a trace.
_BARE = "none"


def measure_traces(backend: Backend, cases: Sequence[Case], repeat: int, progress: Report) -> dict[str, Any]:
    """Measure, and return the fields for the JSON."""
    return {"presets": {case.name: _measure(backend, case, repeat, progress) for case in cases}}


def _measure(backend: Backend, case: Case, repeat: int, progress: Report) -> dict[str, Any]:
    """Return the figures of one preset: seconds of each run by format, ratio to a run without, speeds, and sizes.

    The runs of the formats alternate, so that other load on the machine affects them all.
    """
    from metronome.sim.show.trace.about import About

    about = About(name=case.launch.name, facts=[], image=case.launch.image)
    kinds = [kind for kind in FORMATS if kind not in (*WAVEFORMS, *FIGURES)]
    seconds: dict[str, list[float]] = {_BARE: [], **{kind: [] for kind in kinds}}
    sizes: dict[str, int] = {}
    config, request = case.machine.config, case.request
    result = backend.run(config, request, progress, lambda line: None, by_profile=False)  # builds
    case.require_passed(result)
    with tempfile.TemporaryDirectory(prefix="metronome-bench-") as folder:
        for number in range(repeat):
            for kind, found in seconds.items():
                progress(f"{case.name}, {kind}: run {number + 1} of {repeat}")
                path = Path(folder) / f"trace{kind}"
                files = [] if kind == _BARE else [TraceFile(path, kind)]
                begin = time.perf_counter()
                with traced(files, config, about) as watcher:
                    result = backend.run(
                        config, request, lambda step: None, lambda line: None, watcher, by_profile=False
                    )
                found.append(time.perf_counter() - begin)
                if files:
                    sizes[kind] = path.stat().st_size
    case.require_passed(result)
    medians = {kind.removeprefix("."): statistics.median(found) for kind, found in seconds.items()}
    lengths = {kind.removeprefix("."): size / result.total_cycles for kind, size in sizes.items()}
    speeds = {kind: result.total_cycles / median for kind, median in medians.items()}
    return {
        "total_cycles": result.total_cycles, "seconds": seconds, "cycles_per_second": speeds[_BARE],
        "traces": {
            kind: {
                "factor": medians[kind] / medians[_BARE], "bytes_per_cycle": length,
                "cycles_per_second": speeds[kind],
            } for kind, length in lengths.items()
        },
    }


def _speeds(figure: Mapping[str, Any]) -> tuple[str, str]:
    return f"{figure['cycles_per_second']:.0f}", f"{figure['cycles_per_loop']:.0f}"


def traces_table(document: Mapping[str, Any]) -> Table:
    """Return a table with a row for each preset without a trace, and one for each format."""
    table = new_table("preset", ">size", ">cycles", "format", ">cycles/s", ">cycles/loop", ">time", ">bytes a cycle",
                      title=f"{document['kernel']}, traced, starts included; without a trace the time is 1")
    for preset, figure in document["presets"].items():
        table.add_row(preset, str(document["sizes"][preset]), str(figure["total_cycles"]), _BARE, *_speeds(figure),
                      "1", "")
        for kind, its in figure["traces"].items():
            table.add_row("", "", "", kind, *_speeds(its), f"{its['factor']:.2f}", f"{its['bytes_per_cycle']:.1f}")
    return table
