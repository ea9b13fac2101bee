"""``metronome bench --trace``: what writing a trace costs, beside the same simulation without one."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from metronome.sim.show.trace.formats import FORMATS, WAVEFORMS

from ..options.machine import Machine
from ..output.tables import new_table
from ..process.backend import Backend
from ..process.progress import Report
from .result import Outcome
from .tracing import TraceFile, traced

__all__ = ["measure_traces", "traces_table"]

#: Without a trace.
_BARE = "none"


def measure_traces(
    backend: Backend, asked: Machine, kernel: str, size: int, repeat: int, memory: str, latency: int, progress: Report
) -> tuple[Outcome, dict[str, Any]]:
    """The last outcome, and the figures: seconds of each run by format, their ratio to a run without, and sizes.

    The runs of the formats alternate, so that whatever else the machine does hits them all.
    """
    from metronome.sim.run.types import RunRequest
    from metronome.sim.show.trace.about import About

    config, preset = asked.config, asked.preset
    launch = backend.prepare(kernel, None, size, 1, config)
    request = RunRequest(
        launch=launch, policy=config.policies[0],
        fetch_policy=config.fetch_policies[0] if config.fetch_policies else None, memory=memory, latency=latency,
    )
    about = About(name=kernel, facts=[], image=launch.image)
    seconds: dict[str, list[float]] = {_BARE: [], **{kind: [] for kind in FORMATS if kind not in WAVEFORMS}}
    sizes: dict[str, int] = {}
    backend.run(config, request, progress, lambda line: None)  # builds
    with tempfile.TemporaryDirectory(prefix="metronome-bench-") as folder:
        for number in range(repeat):
            for kind, found in seconds.items():
                progress(f"{preset}, {kind}: run {number + 1} of {repeat}")
                path = Path(folder) / f"trace{kind}"
                files = [] if kind == _BARE else [TraceFile(path, kind)]
                begin = time.perf_counter()
                with traced(files, config, about) as watcher:
                    result = backend.run(config, request, lambda step: None, lambda line: None, watcher)
                found.append(time.perf_counter() - begin)
                if files:
                    sizes[kind] = path.stat().st_size
    medians = {kind: statistics.median(found) for kind, found in seconds.items()}
    outcome = Outcome(machine=asked, config=config, launch=launch, request=request, result=result)
    return outcome, {
        "total_cycles": result.total_cycles, "seconds": seconds,
        "traces": {
            kind.removeprefix("."): {
                "factor": medians[kind] / medians[_BARE], "bytes_per_cycle": sizes[kind] / result.total_cycles,
            } for kind in sizes
        },
    }


def traces_table(kernel: str, sizes: Mapping[str, int], figures: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each preset and format."""
    table = new_table("preset", ">size", ">cycles", "format", ">time, without a trace: 1", ">bytes a cycle",
                      title=f"{kernel}, traced")
    for preset, figure in figures.items():
        for kind, its in figure["traces"].items():
            table.add_row(
                preset, str(sizes[preset]), str(figure["total_cycles"]), kind, f"{its['factor']:.2f}",
                f"{its['bytes_per_cycle']:.1f}",
            )
    return table
