"""``metronome predict``: a run, computed instead of simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ..options.common import JsonOption
from ..options.gpu import GpuOptions
from ..options.running import MaxCyclesOption
from .asking import MAX_CYCLES, RunOptions, ShownOptions, SubjectOptions
from .predicting import Computed, compute
from .tracing import TraceOptions, trace_files

__all__ = ["predict"]


@dataclass(frozen=True, kw_only=True)
class ScheduleOptions:
    """Uses of the predicted schedule."""

    issues: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every issue, NOPs included: .csv or .parquet.")
    ] = None
    verify: Annotated[
        bool, typer.Option("--verify", help="Also run the hardware, and report the first cycle that differs.")
    ] = False


def predict(
    ctx: typer.Context, *, subject: SubjectOptions, max_cycles: MaxCyclesOption = MAX_CYCLES, shown: ShownOptions,
    trace: TraceOptions, gpu: GpuOptions, schedule: ScheduleOptions, json_file: JsonOption = None,
) -> int:
    """Predict a run exactly, cycle by cycle, without the hardware."""
    traces = trace_files(trace.trace, "--trace", trace.trace_format)
    options = RunOptions(subject=subject, max_cycles=max_cycles, shown=shown, json_file=json_file, gpu=gpu)
    return compute(ctx, options, Computed(traces=traces, issues=schedule.issues, verify=schedule.verify))
