"""A run, computed instead of simulated, and its files: ``metronome predict`` and ``metronome trace``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metronome.sim.machine.engines import Engine
from metronome.sim.show.trace.formats import WAVEFORMS

from ..output.outputs import require_writable, write_file
from ..output.profiling import Counted
from ..process.backend import backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import print_console, show_progress
from .asking import AskedRun, RunOptions, asked_run
from .tracing import TraceFile, about, traced, window_of
from .tracing_gpu import check_gpu_traces, traced_gpu

if TYPE_CHECKING:
    import numpy as np

    from metronome.hdl.gpu.config import GpuConfig
    from metronome.sim.predict.gpu.predictor import GpuPrediction
    from metronome.sim.predict.predictor import Prediction
    from metronome.sim.predict.verify import Verification
    from metronome.sim.run.types import RunResult

__all__ = ["Computed", "compute", "fields_of", "finishes_of", "issues_of_all", "slow_policy"]

#: Format of the --issues file, by suffix.
_FORMATS = (".csv", ".parquet")
#: A policy in Python is slow if it is called in more than this share of the cycles, besides the first ones. The run
#: must also take more seconds than _SHORT, and compute fewer cycles a second than _FAST.
_SELDOM, _SHORT, _FAST = 0.05, 1, 300_000
#: Number of differences that --verify lists individually.
_MOST_DIFFERENCES = 20


@dataclass(frozen=True, kw_only=True)
class Computed:
    """Outputs of a prediction besides its result."""

    #: The trace files, which receive every cycle.
    traces: Sequence[TraceFile]
    #: The file of --issues, as given.
    issues: str | None = None
    #: The option of the trace files, and the first and the last cycle of figures.
    option: str = "--trace"
    window: tuple[int | None, int | None] = (None, None)
    #: Compare with the hardware.
    verify: bool = False


def _issues_file(name: str | None) -> Path | None:
    if name is None:
        return None
    if not name.endswith(_FORMATS):
        raise UsageError(f"--issues: the name of the file must end in {' or '.join(_FORMATS)}, not {name!r}")
    return require_writable(name, "--issues")


def issues_of_all(issued: Sequence[np.ndarray]) -> np.ndarray:
    """Return the issues of all SMs in one array by cycle, in a cycle by SM, with a field ``sm``."""
    import numpy as np

    cycle, *others = issued[0].dtype.descr
    every = np.zeros(sum(map(len, issued)), [cycle, ("sm", np.int64), *others])
    every["sm"] = np.repeat(np.arange(len(issued)), [len(each) for each in issued])
    for name in issued[0].dtype.names or ():
        every[name] = np.concatenate([each[name] for each in issued])
    return every[np.argsort(every["cycle"], kind="stable")]


def _write_issues(path: Path, issued: np.ndarray | tuple[np.ndarray, ...]) -> None:
    """Write cycle, warp and pc of each issue, and its SM if there are several; a NOP has no pc."""
    import pyarrow
    from pyarrow import csv, parquet

    from metronome.sim.build.origin import metadata

    of_sms: dict[str, np.ndarray] = {}
    if isinstance(issued, tuple):
        issued = issues_of_all(issued)
        of_sms = {"sm": issued["sm"]}
    pcs = issued["pc"]
    table = pyarrow.table({
        "cycle": issued["cycle"], **of_sms, "warp": issued["warp"],
        "pc": pyarrow.array(pcs, pyarrow.uint32(), mask=pcs < 0),
    })
    sink = pyarrow.BufferOutputStream()
    if path.suffix == ".csv":
        csv.write_csv(table, sink, csv.WriteOptions(quoting_style="none"))
    else:
        parquet.write_table(table.replace_schema_metadata(metadata()), sink)
    write_file(path, sink.getvalue().to_pybytes())


def finishes_of(issued: np.ndarray, warps: int) -> list[int | None]:
    """Return the cycle of each warp's last instruction; None for a warp that never ran."""
    instructions = issued[issued["pc"] >= 0]
    finish: list[int | None] = []
    for warp in range(warps):
        cycles = instructions["cycle"][instructions["warp"] == warp]
        finish.append(int(cycles[-1]) if len(cycles) else None)
    return finish


def fields_of(prediction: Prediction | GpuPrediction, finishes: Sequence[int | None]) -> dict[str, Any]:
    """Return the fields of the JSON that a simulated run does not have."""
    result = prediction.result
    more: dict[str, Any] = {"predicted_cycles_per_second": result.cycles_per_second, "stepped": prediction.stepped}
    if result.region is not None:
        rows = result.region.as_json()["warps"]
        more["warps"] = [row | {"finish": finish} for row, finish in zip(rows, finishes, strict=True)]
    return more


def slow_policy(prediction: Prediction | GpuPrediction, policy: str) -> str | None:
    """Return a note if the calls of ``policy``, in Python, made the prediction slow; else None."""
    from metronome.sim.predict.model.choices import FIRST

    result = prediction.result
    often = prediction.asked - FIRST > _SELDOM * result.total_cycles
    if not often or result.sim_seconds <= _SHORT or result.cycles_per_second >= _FAST:
        return None
    return (
        f"note: {policy} was asked in {min(prediction.asked, result.total_cycles)} of {result.total_cycles} cycles, "
        f"which is slow: {prediction.reason}"
    )


def _check_use(options: RunOptions, wanted: Computed) -> None:
    """Raise UsageError for options that a prediction does not support."""
    if any(file.kind in WAVEFORMS for file in wanted.traces):
        raise UsageError("--trace: a waveform is that of the hardware: metronome run, or metronome trace")
    for option, asks in (("--trace", wanted.traces), ("--profile", options.shown.profile)):
        if wanted.verify and asks:
            raise UsageError(f"{option} is that of one run, --verify makes two: leave one of them out")


def compute(ctx: typer.Context, options: RunOptions, wanted: Computed) -> int:
    """Predict a run and return the exit status."""
    issues_file = _issues_file(wanted.issues)
    outputs = [] if issues_file is None else [("--issues", issues_file)]
    outputs += [(wanted.option, file.path) for file in wanted.traces]
    _check_use(options, wanted)
    window = window_of(wanted.traces, wanted.option, *wanted.window)
    asked = asked_run(ctx, options, outputs, of_gpu=lambda gpu: check_gpu_traces(gpu, wanted.traces, wanted.option))
    sms = 1 if asked.gpu is None else asked.gpu.sms
    counted = Counted(asked.config, asked.launch.image, sms) if options.shown.profile else None
    if asked.gpu is not None:
        return _compute_gpu(ctx, asked, asked.gpu, wanted, issues_file, counted)
    backend, verification = backend_of(ctx), None
    sinks = [] if counted is None else counted.profiles
    with show_progress() as progress, traced(wanted.traces, asked.config, about(asked), sinks, window) as watcher:
        if wanted.verify:
            prediction, verification = backend.verify(asked.config, asked.request, progress, print_console)
        else:
            prediction = backend.predict(asked.config, asked.request, progress, print_console, watcher)
    result = prediction.result
    if (note := slow_policy(prediction, asked.request.policy)) is not None:
        print(f"metronome: {note}", file=sys.stderr)
    if issues_file is not None:
        _write_issues(issues_file, prediction.issued)
    finishes = finishes_of(prediction.issued, asked.config.warps)
    more = fields_of(prediction, finishes)
    if verification is not None:
        more |= verification.as_json()
    status = asked.finish(result, more, engine=Engine.PREDICT, finishes=finishes, profiled=counted)
    return status if verification is None else _tell(asked, result, verification, status)


def _compute_gpu(
    ctx: typer.Context, asked: AskedRun, gpu: GpuConfig, wanted: Computed, issues_file: Path | None,
    counted: Counted | None,
) -> int:
    """Predict a run on several SMs and return the exit status."""
    backend, verification = backend_of(ctx), None
    sinks = [] if counted is None else counted.profiles
    with show_progress() as progress, traced_gpu(wanted.traces, gpu, about(asked), sinks) as watchers:
        if wanted.verify:
            prediction, verification = backend.verify_gpu(gpu, asked.request, progress, print_console)
        else:
            prediction = backend.predict_gpu(gpu, asked.request, progress, print_console, watchers)
    if (note := slow_policy(prediction, asked.request.policy)) is not None:
        print(f"metronome: {note}", file=sys.stderr)
    if issues_file is not None:
        _write_issues(issues_file, prediction.issued)
    result = prediction.result
    more = fields_of(prediction, ())
    if verification is not None:
        more |= verification.as_json()
    status = asked.finish(result, more, engine=Engine.PREDICT, profiled=counted)
    return status if verification is None else _tell(asked, result, verification, status)


def _tell(asked: AskedRun, result: RunResult, verification: Verification, status: int) -> int:
    """Say whether the hardware agrees, and return the exit status."""
    if not verification.passed:
        return _tell_differences(verification)
    if not asked.as_json or asked.target is not None:
        left = ", ".join(name for name, value in result.counters.items() if value is None)
        print("hardware and prediction agree in every cycle" + (f" (not predicted: {left})" if left else ""))
    return status


def _tell_differences(verification: Verification) -> int:
    complaints = verification.complaints()
    for text in complaints[:_MOST_DIFFERENCES]:
        print(f"metronome: hardware and prediction differ: {text}", file=sys.stderr)
    if len(complaints) > _MOST_DIFFERENCES:
        print(f"metronome: {len(complaints) - _MOST_DIFFERENCES} more: --json has them all", file=sys.stderr)
    return Exit.CHECK_FAILED
