"""``metronome run``: one program on the simulated SM."""

from __future__ import annotations

import typer

from ..options.common import JsonOption
from ..options.gpu import GpuOptions
from ..options.running import MaxCyclesOption
from .asking import MAX_CYCLES, RunOptions, ShownOptions, SubjectOptions, WatchOptions
from .simulating import simulate
from .tracing import TraceOptions, trace_files

__all__ = ["run"]


def run(
    ctx: typer.Context, *, subject: SubjectOptions, max_cycles: MaxCyclesOption = MAX_CYCLES, watch: WatchOptions,
    shown: ShownOptions, trace: TraceOptions, gpu: GpuOptions, json_file: JsonOption = None,
) -> int:
    """Run a program on the simulated SM or on several, check its result, and report where its cycles went."""
    options = RunOptions(subject=subject, max_cycles=max_cycles, watch=watch, shown=shown, json_file=json_file, gpu=gpu)
    return simulate(ctx, options, trace_files(trace.trace, "--trace", trace.trace_format), "--trace")
