"""``metronome sweep``: one kernel on many front ends, a table row each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from metronome.sim.machine.engines import Engine

from ..options.common import JsonOption, given, json_target, listed
from ..options.compiling import CflagsOption, FunctionOption, NoSimtOption, compiling, print_warnings
from ..options.machine import (
    DEFAULT_PRESET,
    ConfigOption,
    Machine,
    PresetOption,
    SweepSetOption,
    ThreadsOption,
    WarpsOption,
    axes,
    machines,
)
from ..options.program import Program, find_program
from ..options.running import (
    BankHashOption,
    CheckOption,
    EngineOption,
    ForecastOption,
    LatencyOption,
    MaxCyclesOption,
    MemoryClockOption,
    MemoryOption,
    SeedOption,
    SizeOption,
    TimingOption,
    TypeOption,
    check_run_options,
    engine_of,
    memory_latency,
    memory_options,
)
from ..options.schemes import POLICY_NAMES, Scheme, coordinate, schemes
from ..output.outputs import STDOUT, refuse_inputs, waves, write_json
from ..process.backend import Backend, backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import Report, show_progress
from .experiment import (
    DryRunOption,
    ForgetOption,
    JobsOption,
    OutputOption,
    SchedulerOption,
    carry_out,
    experiment_of,
    find,
    is_experiment,
    summary_table,
    with_engine,
)
from .result import Outcome, print_outcome
from .sweep_table import print_sweep

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.program.compiler.options import Compiling
    from metronome.sim.run.types import RunRequest

__all__ = ["sweep"]


def _schemes(
    machine: Machine, varied: Sequence[str], mode: str | None, fetch: str | None, issue: str | None,
    prediction: str | None, engine: Engine,
) -> list[Scheme]:
    """The front ends to compare on one machine.

    Without lists these are the paper's two, as far as the engine knows them, with the machine's policies. If fields are
    varied, it is the machine's own one, and if the user has named a field of it, so is that.
    """
    config = machine.config
    both = ["baseline", "swas"] if engine is Engine.RTL else ["swas"]
    own = [config.coordination.value] if varied or machine.names("coordination") else both
    policies = list(config.policies[:1] if varied and not machine.names("policies") else config.policies)
    return list(schemes(
        config, own if mode is None else listed("--mode", mode), [] if fetch is None else listed("--fetch", fetch),
        policies if issue is None else listed("--issue", issue),
        [config.prediction.value] if prediction is None else listed("--prediction", prediction),
    ))


def sweep(
    ctx: typer.Context,
    kernel: Annotated[
        str,
        typer.Argument(
            metavar="KERNEL",
            help="A kernel of `metronome kernels`, your folder, .c, .cl; or an experiment: paper, pta, FILE.toml.",
        ),
    ],
    preset: PresetOption = DEFAULT_PRESET,
    warps: WarpsOption = None,
    threads: ThreadsOption = None,
    settings: SweepSetOption = None,
    config_file: ConfigOption = None,
    mode: Annotated[
        str | None, typer.Option(metavar="MODES", help="swas, baseline, vortex; with commas. Default: baseline,swas.")
    ] = None,
    issue: Annotated[
        str | None, typer.Option("--issue", "--policy", metavar="POLICIES", help=f"With commas: {POLICY_NAMES}.")
    ] = None,
    fetch: Annotated[
        str | None,
        typer.Option(metavar="POLICIES", help="Fetch policies of baseline and vortex; default: lrr, and fixed."),
    ] = None,
    prediction: Annotated[
        str | None, typer.Option(metavar="NAMES", help="btfn (default), not_taken; with commas.")
    ] = None,
    dtype: TypeOption = None,
    size: SizeOption = None,
    seed: SeedOption = 1,
    memory: MemoryOption = "fixed",
    latency: LatencyOption = None,
    timing: TimingOption = None,
    memory_clock: MemoryClockOption = None,
    bank_hash: BankHashOption = None,
    max_cycles: MaxCyclesOption = 10_000_000,
    function: FunctionOption = None,
    cflags: CflagsOption = None,
    no_simt: NoSimtOption = False,
    check: CheckOption = False,
    engine: EngineOption = None,
    forecast: ForecastOption = False,
    output: OutputOption = None,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
    forget_others: ForgetOption = False,
    dry_run: DryRunOption = False,
    json_file: JsonOption = None,
) -> int:
    """Run a kernel on every combination of fields, front ends, policies and predictions, and compare them.

    Without a list it compares baseline and swas; with a list in --set, only what that varies.

    An experiment (docs/experiments.md) has its axes in a file. Its runs use all cores, and each result is kept at
    once: a sweep that was interrupted goes on where it was. So does a kernel's sweep with --output.
    """
    target = json_target(json_file)
    how = functools.partial(
        carry_out, output=output, jobs=jobs, scheduler=scheduler, forget_others=forget_others, dry_run=dry_run,
        target=target,
    )
    if is_experiment(kernel):
        _refuse_axes(ctx)
        refuse_inputs(target, {"the experiment": kernel}, waves())
        spec = find(kernel)
        return _finish(how(spec if engine is None else with_engine(spec, engine_of(engine))), json_file, target)
    if output is None and not dry_run and (jobs is not None or scheduler is not None or forget_others):
        raise UsageError("--jobs, --scheduler and --forget-others are for results that are kept: add --output FOLDER")
    memory, dtype = check_run_options(memory=memory, dtype=dtype, size=size, seed=seed, max_cycles=max_cycles)
    cycles = memory_latency(memory, latency)
    options = memory_options(memory, timing, memory_clock, bank_hash)
    varied, computed = axes(settings), engine_of(engine)
    asked = [
        (machine, _schemes(machine, varied, mode, fetch, issue, prediction, computed))
        for machine in machines(preset, warps, threads, settings, config_file)
    ]
    if forecast:
        _check_forecast([machine.config for machine, _ in asked], computed)
    compiled = compiling(cflags, function, no_simt)
    program = find_program(kernel)
    refuse_inputs(target, {"--config": config_file, **program.files}, waves())

    def request(launch: Any, scheme: Scheme) -> RunRequest:
        from metronome.sim.run.types import RunRequest

        return RunRequest(
            launch=launch, policy=scheme.issue, fetch_policy=scheme.fetch, memory=memory, latency=cycles,
            seed=seed, memory_options=options, check=check, memcheck=check, max_cycles=max_cycles, trace=forecast,
        )

    runs = [
        (machine, scheme, coordinate(machine.config, scheme, alike)) for machine, alike in asked for scheme in alike
    ]
    if output is not None or dry_run:
        spec = experiment_of(
            program, runs, request, compiled, dtype=dtype, size=size, engine=computed, forecast=forecast
        )
        return _finish(how(spec), json_file, target)
    outcomes = _outcomes(
        backend_of(ctx), program, runs, request, compiled, varied, dtype=dtype, size=size, seed=seed, engine=computed
    )
    # The table first: a file that cannot be written after all does not cost the results.
    if json_file != STDOUT:
        print_sweep(outcomes, varied, program.name)
    if json_file is not None:
        write_json(target, {"kernel": kernel, "runs": [outcome.as_json() for outcome in outcomes]})
    return max(outcome.exit_status for outcome in outcomes)


def _check_forecast(configs: Sequence[SmConfig], engine: Engine) -> None:
    """UsageError if there is nothing that a forecast can be compared with."""
    if engine is not Engine.RTL:
        raise UsageError("--forecast is compared with a run of the hardware: leave out --engine")
    if not all(config.probe for config in configs):
        raise UsageError("--forecast compares what the probe shows: leave out --set probe=false")


def _outcomes(
    backend: Backend, program: Program, runs: Sequence[tuple[Machine, Scheme, SmConfig]],
    request: Callable[[Any, Scheme], RunRequest], compiled: Compiling, varied: Sequence[str], *, dtype: str | None,
    size: int | None, seed: int, engine: Engine,
) -> list[Outcome]:
    """Run one after the other. Every program is prepared first: what is wrong with one costs no simulation."""
    predicted = engine is Engine.PREDICT
    for _, scheme, config in runs if predicted else ():
        backend.refuse_prediction(config, request(None, scheme))
    if not predicted:
        backend.require_tools(config for _, _, config in runs)
    once = functools.cache(print_warnings)
    launches = [
        program.prepare(
            backend, config, dtype=dtype, size=size, seed=seed, argument=None, compiling=compiled, warn=once,
        )
        for _, _, config in runs
    ]
    outcomes = []
    with show_progress() as progress:
        for (machine, scheme, config), launch in zip(runs, launches, strict=True):
            name, asked = _title(machine, varied, scheme), request(launch, scheme)
            step = _named(name, progress)
            if predicted:
                result = backend.predict(config, asked, step, lambda line: None, again=True).result
            else:
                result = backend.run(config, asked, step, lambda line: None)
            forecast = backend.forecast(config, asked, result) if asked.trace else None
            result.events = None
            outcomes.append(Outcome(
                machine=machine, config=config, launch=launch, request=asked, result=result, engine=engine,
                forecast=forecast,
            ))
            print_outcome(outcomes[-1], table=False, name=name)
    return outcomes


#: Options that an experiment takes; its axes stand in its file.
_OF_EXPERIMENTS = ("kernel", "engine", "output", "jobs", "scheduler", "forget_others", "dry_run", "json_file")


def _refuse_axes(ctx: typer.Context) -> None:
    """UsageError for an option that would be an axis."""
    option = given(ctx, {parameter.name or "" for parameter in ctx.command.params} - set(_OF_EXPERIMENTS))
    if option is not None:
        raise UsageError(f"{option} is for a kernel: the axes of an experiment stand in its file")


def _finish(done: tuple[dict[str, Any], Exit], json_file: str | None, target: Path | None) -> int:
    value, status = done
    if json_file is not None:
        write_json(target, value)
    if json_file != STDOUT:
        Console().print(summary_table(value))
    return status


def _named(name: str, progress: Report) -> Report:
    """Steps with the run's name before them."""
    return lambda step: progress(f"{name}: {step}")


def _title(machine: Machine, varied: Sequence[str], scheme: Scheme) -> str:
    pair = scheme.issue if scheme.fetch is None else f"{scheme.fetch}-{scheme.issue}"
    fields = [f"{name}={machine.settings[name]}" for name in varied]
    return " ".join([*fields, scheme.mode, pair, scheme.prediction])
