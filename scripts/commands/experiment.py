"""``metronome sweep`` with an experiment, or with a folder for its results: the options, the progress, the summary."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import progress
from rich.markup import escape
from rich.table import Table

from metronome.hdl.config import Coordination
from metronome.sim.machine.engines import Engine
from metronome.sim.machine.policies.files import loaded
from metronome.sim.machine.settings import ConfigError, near, parse, replaced
from metronome.sim.machine.user_paths import user_path

from ..options.common import listed, positive
from ..output.outputs import refuse_folder, warn_of_others
from ..output.tables import new_table
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.sim.studies.sweep.pools import Event, Pool
    from metronome.sim.studies.sweep.results import Results
    from metronome.sim.studies.sweep.spec import Spec
    from metronome.sim.studies.sweep.sweep import Plan

    from .sweep_runs import KernelRuns

__all__ = ["KeptOptions", "carry_out", "experiment_of", "find", "is_experiment", "summary_table", "with_engine",
           "with_hints", "with_schedulers"]

#: A name that is at least this similar to an experiment's is taken for a misspelt one.
_ALIKE = 0.7
#: Number of failed runs that are listed.
_MOST_FAILED = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptOptions:
    """The folder of the results, and the settings for missing runs."""

    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="The folder for the results, in Parquet; default: results-NAME.",
        ),
    ] = None
    jobs: Annotated[
        int | None, typer.Option("--jobs", metavar="N", help="Number of parallel runs; default: the number of cores."),
    ] = None
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Run on this Dask cluster: tcp://host:8786.")
    ] = None
    forget_others: Annotated[
        bool,
        typer.Option("--forget-others", help="Delete results in the folder that do not belong to this sweep."),
    ] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the runs and estimate the time; run nothing."),
    ] = False


def is_experiment(name: str) -> bool:
    """Return whether this argument of ``metronome sweep`` is an experiment rather than a kernel.

    Raises
    ------
    UsageError
        If the name is neither but resembles an experiment's.
    """
    from metronome.sim.program.kernel_folders import KERNELS
    from metronome.sim.studies.sweep.spec import NAMED

    known = name in KERNELS or user_path(name).exists()
    if not known and name not in NAMED and difflib.get_close_matches(name.lower(), NAMED, 1, _ALIKE):
        raise UsageError(f"unknown kernel or experiment {name!r}{near(name, NAMED)}")
    return name in NAMED or name.endswith(".toml")


def find(name: str) -> Spec:
    """Return the experiment. Raises UsageError if it is invalid."""
    from metronome.sim.studies.sweep.spec import SpecError, find_spec

    try:
        return find_spec(name)
    except SpecError as error:
        raise UsageError(str(error)) from None


def experiment_of(asked: KernelRuns) -> Spec:
    """Return the experiment that the options of a kernel's sweep describe.

    Raises
    ------
    UsageError
        If the program is not a kernel, or does not have this type or size.
    """
    from metronome.sim.program.kernels import KernelError, host_of
    from metronome.sim.studies.sweep.record import Run
    from metronome.sim.studies.sweep.spec import Spec

    program, common = asked.program, asked.common
    if program.kind != "kernel":
        raise UsageError(f"{program.name}: only a kernel with a host.py can be swept in parallel, or with --output")
    try:
        host = host_of(program.name)
    except KernelError as error:
        raise UsageError(str(error)) from None
    made = []
    for each in asked.runs:
        machine, config, request = each.machine, each.config, asked.request(None, each)
        made.append(Run(
            kernel=program.name, config=config, gpu=each.gpu, issue=request.policy, fetch=request.fetch_policy,
            compiling=each.compiled(asked.compiled),
            dtype=asked.dtype or host.types[0], size=asked.size or host.default_size, seed=common.seed,
            preset=machine.preset, file=machine.file,
            # The number of SMs is a field of the GPU.
            settings={name: text for name, text in machine.settings.items() if name != "sms"},
            memory=common.memory, latency=common.latency, memory_options=common.memory_options,
            max_cycles=common.max_cycles, check=common.check, memcheck=request.memcheck, engine=asked.engine,
            forecast=common.trace,
            policy_files={name: file.text for name, file in loaded(
                (*config.policies, *config.fetch_policies)).items()},
        ))
    name = Path(program.name).resolve().stem
    return Spec(name=name, title=f"metronome sweep {program.name}", about="", text="", runs=tuple(made))


def with_engine(spec: Spec, engine: Engine) -> Spec:
    """Return the experiment for another engine; leave out the runs that it does not support, and print their number.

    Raises
    ------
    UsageError
        If nothing is left.
    """
    if engine is Engine.RTL:
        return dataclasses.replace(spec, runs=tuple(dataclasses.replace(run, engine=engine) for run in spec.runs))
    runs = tuple(
        dataclasses.replace(run, engine=engine) for run in spec.runs if run.config.coordination is Coordination.SWAS
    )
    left_out = len(spec.runs) - len(runs)
    if not runs:
        raise UsageError(f"--engine predict: no run of {spec.name} has mode swas, the only one that can be predicted")
    if left_out:
        note = f"metronome: note: {left_out} of {len(spec.runs)} runs are left out: only swas can be predicted"
        Console(stderr=True, highlight=False, soft_wrap=True).print(note)
    return dataclasses.replace(spec, name=f"{spec.name}-{engine}", runs=runs)


def with_hints(spec: Spec) -> Spec:
    """Return the experiment with hints in all of its programs."""
    runs = (
        dataclasses.replace(run, compiling=dataclasses.replace(run.compiling, hints=True)) for run in spec.runs
    )
    return dataclasses.replace(spec, name=f"{spec.name}-hints", runs=tuple(runs))


def with_schedulers(spec: Spec, text: str) -> Spec:
    """Return the experiment with each of its runs on machines with these numbers of schedulers.

    Raises
    ------
    UsageError
        For a number that a machine of the experiment cannot have.
    """
    runs = []
    numbers = listed("--schedulers", text)
    for number in numbers:
        for run in spec.runs:
            try:
                config = replaced(run.config, {"schedulers": parse("schedulers", number)})
            except ConfigError as error:
                raise UsageError(f"--schedulers {text}: {run.title}: {error}") from None
            runs.append(dataclasses.replace(run, config=config, settings={**run.settings, "schedulers": number}))
    return dataclasses.replace(spec, name="-".join([spec.name, "schedulers", *numbers]), runs=tuple(runs))


def carry_out(spec: Spec, kept: KeptOptions, target: Path | None) -> tuple[dict[str, Any], Exit]:
    """Run what is not done yet; return the data for --json (``target``) and the exit status.

    Raises
    ------
    UsageError
        For an invalid experiment, a folder that cannot be used, processes that cannot be started, and a cluster
        that does not answer.
    """
    from metronome.sim.build.processes import WorkersError
    from metronome.sim.studies.sweep.pools import ClusterError, DaskPool, LocalPool
    from metronome.sim.studies.sweep.results import Results, ResultsError
    from metronome.sim.studies.sweep.spec import SpecError
    from metronome.sim.studies.sweep.sweep import plan, sweep

    positive("--jobs", kept.jobs)
    if kept.scheduler is not None and kept.jobs is not None:
        raise UsageError("--jobs is for runs on this computer: the cluster of --scheduler has its own number of "
                         "workers")
    if kept.output is not None:
        refuse_folder(kept.output)
    folder = user_path(kept.output or f"results-{spec.name}")
    if target is not None and Results(folder).owns(target):
        raise UsageError(f"--json {target.name}: it would be in {folder}, the folder of the results: name another file")
    workers = kept.jobs or os.cpu_count() or 1
    try:
        with show_progress() as report:
            planned = plan(spec, report)
        if kept.dry_run:
            return _dry(planned, folder, workers, forget=kept.forget_others)
        warn_of_others(str(folder), Results(folder).origins())
        pool = LocalPool(workers) if kept.scheduler is None else DaskPool(kept.scheduler)
        finished = failed = 0
        with _progress(pool) as show:
            for here, event in sweep(planned, folder, pool, forget=kept.forget_others):
                if event is not None and event.row is not None:
                    finished += 1
                    failed += not event.row["passed"]
                show(here, finished, failed, event)
        return _summary(planned, Results.open(folder), finished)
    except (ClusterError, ResultsError, SpecError, WorkersError) as error:
        raise UsageError(str(error)) from None


def _summary(planned: Plan, results: Results, finished: int) -> tuple[dict[str, Any], Exit]:
    """Count all results, including those of earlier invocations, and name the failed ones."""
    titles = planned.about["runs"]
    rows = results.table().select(["run", "passed", "reason"]).to_pylist()
    failed = [f"{titles[row['run']]}: {row['reason']}" for row in rows if not row["passed"]]
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in failed[:_MOST_FAILED]:
        console.print(escape(f"metronome: {line}"))
    if len(failed) > _MOST_FAILED:
        console.print(f"metronome: {len(failed) - _MOST_FAILED} more have failed: metronome report shows them")
    value = {
        "experiment": planned.spec.name, "results": str(results.folder), "runs": len(planned.tasks),
        "run_now": finished, "passed": len(rows) - len(failed), "failed": len(failed),
    }
    return value, Exit.CHECK_FAILED if failed else Exit.PASSED


def _dry(planned: Plan, folder: Path, workers: int, *, forget: bool) -> tuple[dict[str, Any], Exit]:
    from metronome.sim.studies.sweep.estimate import estimate
    from metronome.sim.studies.sweep.results import Results

    planned = dataclasses.replace(planned, done=frozenset(Results(folder).done(planned.about, forget=forget)))
    guess = estimate(planned.waiting, workers)
    kernels: dict[tuple[str, str], int] = {}
    for task in planned.waiting:
        config = task.run.config
        sms = "" if task.run.gpu is None else f"{task.run.sms} SMs of "
        what = (task.run.kernel, f"{sms}{config.warps} x {config.threads}")
        kernels[what] = kernels.get(what, 0) + 1
    table = new_table("kernel", "warps x threads", ">runs")
    for (kernel, machine), count in kernels.items():
        table.add_row(escape(kernel), machine, str(count))
    console = Console(stderr=True, highlight=False)
    console.print(table)
    value = {
        "experiment": planned.spec.name, "results": str(folder), "runs": len(planned.tasks),
        "to_run": len(planned.waiting), "machines": planned.machines, "machines_to_build": guess.builds,
        "minutes": round(guess.seconds / 60, 1),
    }
    return value, Exit.PASSED


def summary_table(value: dict[str, Any]) -> Table:
    """Return the result of :func:`carry_out` as a table."""
    table = new_table("", "")
    for name, what in value.items():
        table.add_row(name.replace("_", " "), escape(str(what)))
    return table


class _Running(progress.TextColumn):
    """The runs in progress, one line each."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("")
        self._pool = pool

    def render(self, task: Any) -> Any:
        """Return the lines, updated whenever the display is drawn."""
        from rich.text import Text

        return Text("\n".join(self._pool.running()), style="dim")


@contextmanager
def _progress(pool: Pool) -> Iterator[Callable[[Plan, int, int, Event | None], None]]:
    """Show a bar with done, failed, the time left, and the runs in progress; silent without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda planned, finished, failed, event: None
        return
    columns = (
        progress.SpinnerColumn(), progress.TextColumn("{task.description}"), progress.BarColumn(20),
        progress.MofNCompleteColumn(), progress.TimeElapsedColumn(),
        progress.TextColumn("left"), progress.TimeRemainingColumn(), _Running(pool),
    )
    with progress.Progress(*columns, console=console) as display:
        bar = display.add_task("runs", total=None)

        def show(planned: Plan, finished: int, failed: int, event: Event | None) -> None:
            name = f"runs, {failed} failed" if failed else "runs"
            display.update(bar, total=len(planned.waiting), completed=finished, description=name)

        yield show
