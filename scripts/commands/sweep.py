"""``metronome sweep``: one kernel on many front ends, a table row each."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metronome.sim.machine.engines import Engine

from ..options.common import JsonOption, given, json_target
from ..options.compiling import print_warnings
from ..options.machine import Machine
from ..options.running import engine_of
from ..options.schemes import Scheme
from ..output.outputs import STDOUT, refuse_inputs, waves, write_json
from ..process.backend import Backend, backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import Report, show_progress
from ..process.terminal import Console
from .experiment import (
    KeptOptions,
    carry_out,
    experiment_of,
    find,
    is_experiment,
    summary_table,
    with_engine,
    with_hints,
    with_schedulers,
)
from .gpu import GpuOutcome, of_program
from .result import Outcome, print_outcome
from .sweep_runs import KernelRun, KernelRuns, SweepOptions
from .sweep_table import print_sweep

if TYPE_CHECKING:
    from metronome.sim.program.kernels import Launch
    from metronome.sim.run.types import RunRequest, RunResult

__all__ = ["sweep"]


def sweep(
    ctx: typer.Context, *,
    kernel: Annotated[
        str,
        typer.Argument(
            metavar="KERNEL",
            help="A kernel (`metronome kernels`), a folder, a .c or .cl file; or an experiment: paper, pta, FILE.toml.",
        ),
    ],
    options: SweepOptions, kept: KeptOptions, json_file: JsonOption = None,
) -> int:
    """Run a kernel on every combination of fields, front ends, policies and predictions, and compare them.

    Without a list it compares baseline and swas; with a list in --set, only the listed fields vary.

    An experiment (docs/experiments.md) has its axes in a file. Its runs use all cores, and each result is kept at
    once: an interrupted sweep continues where it stopped. So does a kernel's sweep with --output.
    """
    target = json_target(json_file)
    keeps = kept.output is not None or kept.dry_run
    if is_experiment(kernel):
        _refuse_axes(ctx)
        refuse_inputs(target, {"the experiment": kernel}, waves())
        spec, engine = find(kernel), options.each.engine
        spec = spec if engine is None else with_engine(spec, engine_of(engine))
        spec = with_hints(spec) if options.each.hints else spec
        spec = spec if options.each.schedulers is None else with_schedulers(spec, options.each.schedulers)
        return _finish(carry_out(spec, kept, target), json_file, target)
    if not keeps and (kept.jobs is not None or kept.scheduler is not None or kept.forget_others):
        raise UsageError("--jobs, --scheduler and --forget-others are for a sweep that keeps its results: add "
                         "--output FOLDER")
    asked = KernelRuns.of(kernel, options, target)
    if keeps:
        return _finish(carry_out(experiment_of(asked), kept, target), json_file, target)
    outcomes = _outcomes(backend_of(ctx), asked)
    # Open the table first, so that a file that cannot be written after all does not cost the results.
    if json_file != STDOUT:
        print_sweep(outcomes, asked.varied, asked.program.name)
    if json_file is not None:
        write_json(target, {"kernel": kernel, "runs": [outcome.as_json() for outcome in outcomes]})
    return max(outcome.exit_status for outcome in outcomes)


def _outcomes(backend: Backend, asked: KernelRuns) -> list[Outcome]:
    """Run all in turn. Every program is prepared first, so that an error in one costs no simulation."""
    predicted = asked.engine is Engine.PREDICT
    for run in asked.runs if predicted else ():
        backend.refuse_prediction(run.config, asked.request(None, run))
    if not predicted:
        backend.require_tools(run.config for run in asked.runs if run.gpu is None)
    once = functools.cache(print_warnings)
    launches = [
        asked.program.prepare(
            backend, run.config, dtype=asked.dtype, size=asked.size, seed=asked.common.seed, argument=None,
            compiling=run.compiled(asked.compiled), warn=once,
        )
        for run in asked.runs
    ]
    outcomes = []
    with show_progress() as progress:
        for run, launch in zip(asked.runs, launches, strict=True):
            name, request = _title(run.machine, asked.varied, run.scheme), asked.request(launch, run)
            result = _result(backend, run, launch, request, _named(name, progress), predicted=predicted)
            forecast = backend.forecast(run.config, request, result) if request.trace else None
            result.events = None
            kind: Any = Outcome if run.gpu is None else functools.partial(GpuOutcome, gpu=run.gpu)
            outcomes.append(kind(
                machine=run.machine, config=run.config, launch=launch, request=request, result=result,
                engine=asked.engine, forecast=forecast,
            ))
            print_outcome(outcomes[-1], table=False, name=name)
    return outcomes


def _result(
    backend: Backend, run: KernelRun, launch: Launch, request: RunRequest, step: Report, *, predicted: bool
) -> RunResult:
    """Run, or predict, one program."""
    if run.gpu is not None:
        gpu = of_program(run.gpu, launch, run.config.memory_map)
        if predicted:
            return backend.predict_gpu(gpu, request, step, None).result
        return backend.run_gpu(gpu, request, step, lambda line: None)
    if predicted:
        return backend.predict(run.config, request, step, lambda line: None, again=True).result
    return backend.run(run.config, request, step, lambda line: None)


#: Options that an experiment accepts; its axes are in its file.
_OF_EXPERIMENTS = ("kernel", "engine", "hints", "schedulers", "output", "jobs", "scheduler", "forget_others", "dry_run",
                   "json_file")


def _refuse_axes(ctx: typer.Context) -> None:
    """Raise UsageError for an option that would be an axis."""
    option = given(ctx, {parameter.name or "" for parameter in ctx.command.params} - set(_OF_EXPERIMENTS))
    if option is not None:
        raise UsageError(f"{option} is for a kernel: the axes of an experiment are in its file")


def _finish(done: tuple[dict[str, Any], Exit], json_file: str | None, target: Path | None) -> int:
    value, status = done
    if json_file is not None:
        write_json(target, value)
    if json_file != STDOUT:
        Console().print(summary_table(value))
    return status


def _named(name: str, progress: Report) -> Report:
    """Prefix the steps with the run's name."""
    return lambda step: progress(f"{name}: {step}")


def _title(machine: Machine, varied: Sequence[str], scheme: Scheme) -> str:
    pair = scheme.issue if scheme.fetch is None else f"{scheme.fetch}-{scheme.issue}"
    fields = [f"{name}={machine.settings[name]}" for name in varied]
    return " ".join([*fields, scheme.mode, pair, scheme.prediction])
