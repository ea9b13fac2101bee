"""``metronome characterize``: the machine's latencies, measured externally and compared with the configuration."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from metronome.hdl.config import Coordination
from metronome.sim.machine.engines import Engine

from ..options.common import JsonOption, given, json_target, within
from ..options.machine import Machine, MachineOptions, machine_of
from ..options.running import (
    EngineOption,
    InputOptions,
    MemoryOptions,
    SeedOption,
    TypeOption,
    check_run_options,
    engine_of,
    memory_latency,
    memory_options,
)
from ..options.schemes import IssueOption, PredictionOption, SchemeOptions, check_scheme, coordinate
from ..output.outputs import refuse_inputs, require_writable, write_file, write_json
from ..output.tables import new_table
from ..process.backend import Backend, backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import Report, show_progress
from ..process.terminal import Console
from .characterize_models import judge, kernels_of, print_judged
from .characterize_starts import tell_starts

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.run.types import RunRequest
    from metronome.sim.studies.characterize.expected import Row
    from metronome.sim.studies.characterize.measure import Execute
    from metronome.sim.studies.models.parameters import Parameters

__all__ = ["characterize"]

#: With fewer bytes, the code of a micro-benchmark does not fit.
_LEAST_ICACHE = 2048
_MOST_CYCLES = 1 << 40


@dataclass(frozen=True, kw_only=True)
class PolicyOptions:
    """The warp policy and prediction; the front end is that of swas."""

    issue: IssueOption = None
    prediction: PredictionOption = None


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """Selection and method of the measurements."""

    engine: EngineOption = "predict"
    curves: Annotated[
        bool,
        typer.Option(
            "--curves", help="Measure instructions for every number of warps, not only for 1 and the maximum.",
        ),
    ] = False
    repeat: Annotated[
        int, typer.Option(metavar="N", help="Repeat some measurements N times, with seeds from --seed upwards.")
    ] = 1
    models: Annotated[
        bool,
        typer.Option(
            "--models", help="Compare timing models, fed with these numbers, with the true time of every kernel.",
        ),
    ] = False
    kernels: Annotated[
        str | None, typer.Option("--kernels", metavar="NAME,..", help="With --models: only these kernels.")
    ] = None
    dtype: TypeOption = None


def characterize(
    ctx: typer.Context, *, machine: MachineOptions, policy: PolicyOptions, seed: SeedOption = 1, memory: MemoryOptions,
    measures: MeasureOptions,
    html: Annotated[
        str | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page with the figures of the Fermi study for this machine.",
        ),
    ] = None,
    json_file: JsonOption = None,
) -> int:
    """Measure the machine's latencies with micro-benchmarks, and compare them with the configuration's."""
    model, kind = check_run_options(InputOptions(dtype=measures.dtype, seed=seed), memory, 1)
    within("--repeat", measures.repeat, 1, 1000)
    asked = machine_of(machine)
    scheme = check_scheme(asked, SchemeOptions(issue=policy.issue, prediction=policy.prediction))
    config, how = coordinate(asked.config, scheme), engine_of(measures.engine)
    _refuse(config, scheme.issue)
    if config.schedulers > 1:
        _refuse_latencies(ctx, config.schedulers)
    names = kernels_of(measures.kernels, kind, measures.models)
    target = json_target(json_file)
    page = None if html is None else require_writable(html, "--html", ".html", ".htm")
    refuse_inputs(target, {"--config": machine.config_file}, [] if page is None else [("--html", page)])
    from metronome.sim.run.types import RunRequest

    request = RunRequest(
        launch=_NOTHING, policy=scheme.issue, memory=model, latency=memory_latency(model, memory.latency), seed=seed,
        memory_options=memory_options(model, memory), max_cycles=_MOST_CYCLES,
    )
    shown = json_file is None or target is not None
    about = {"config": _described(asked, config, request, how)}
    if config.schedulers > 1:
        with show_progress() as progress:
            starts = _starts(_executors(config, request, how, backend_of(ctx), progress, measures.repeat), config)
        _write(json_file, target, about | {"starts": starts})
        title = f"{asked.title} ({config.warps} warps x {config.threads} threads), {how}"
        tell_starts(starts, title, page, shown=shown)
        return Exit.PASSED
    with show_progress() as progress:
        measured = _measure(config, request, how, backend_of(ctx), progress, measures)
        rows, document = measured.rows, measured.document
        judged = [
            judge(config, request, how, backend_of(ctx), progress, (name, kind), measured.parameters) for name in names
        ]
    document = about | document
    if judged:
        document["models"] = [each.as_json() for each in judged]
    _write(json_file, target, document)
    if page is not None:
        write_file(page, _page(document, f"{asked.title}, {config.warps} warps x {config.threads} threads, {how}"))
    if shown:
        title = f"{asked.title} ({config.warps} warps x {config.threads} threads), {how}"
        _print(title, rows, document, measures.curves)
        print_judged(judged)
    _tell_differences(rows)
    return Exit.PASSED if document["passed"] else Exit.CHECK_FAILED


def _write(json_file: str | None, target: Path | None, document: dict[str, Any]) -> None:
    if json_file is not None:
        write_json(target, document)


def _tell_differences(rows: Sequence[Row]) -> None:
    for row in rows:
        if row.differs:
            print(
                f"metronome: {row.finding.key}: measured {_text(row.finding.value)}, but {row.source} says "
                f"{_text(row.expected)}", file=sys.stderr,
            )


class _Nothing:
    """Placeholder for the program: each run replaces it by a micro-benchmark."""

    entry = argument_address = 0

    def load_into(self, memory: Any) -> None:
        raise NotImplementedError


_NOTHING = _Nothing()


def _refuse(config: SmConfig, policy: str) -> None:
    """Raise UsageError for a machine that the micro-benchmarks cannot measure."""
    from metronome.hdl.policies import POLICIES

    if config.coordination is not Coordination.SWAS:
        raise UsageError(f"characterize measures swas, not {config.coordination}: leave coordination out")
    if POLICIES[policy].idles:
        raise UsageError(f"--issue {policy} leaves issue slots empty: measure with another policy, such as lrr")
    if config.icache_bytes < _LEAST_ICACHE:
        raise UsageError(
            f"the code of a measurement has to fit the I-cache: icache_bytes must be at least {_LEAST_ICACHE}, not "
            f"{config.icache_bytes}"
        )
    if config.local_bytes < 8 * config.threads:
        raise UsageError(
            f"local_bytes must be at least two words a lane, {8 * config.threads}, not {config.local_bytes}"
        )


def _executor(config: SmConfig, request: RunRequest, engine: Engine, backend: Backend, progress: Report) -> Execute:
    """Return a function that runs a micro-benchmark with the settings of ``request``."""

    def execute(bench: Any, latency: int | None) -> Any:
        asked = replace(request, launch=bench)
        if latency is not None:
            asked = replace(asked, memory="fixed", latency=latency)
        if engine is Engine.RTL:
            result = backend.run(config, asked, progress, _silent)
        else:
            result = backend.predict(config, asked, progress, _silent).result
        if result.status != "ended":
            raise RuntimeError(f"a micro-benchmark has not ended: {result.status}, {result.fault}")
        return result.memory

    return execute


def _executors(
    config: SmConfig, request: RunRequest, engine: Engine, backend: Backend, progress: Report, count: int
) -> list[Execute]:
    """Return a function for each of ``count`` repetitions, with seeds from that of ``request`` upwards."""
    return [
        _executor(config, replace(request, seed=request.seed + run), engine, backend, progress) for run in range(count)
    ]


def _described(asked: Machine, config: SmConfig, request: RunRequest, engine: Engine) -> dict[str, Any]:
    from metronome.sim.run.outcome import described

    return described(asked, config, request, None, None, None, engine)


def _refuse_latencies(ctx: typer.Context, schedulers: int) -> None:
    """Raise UsageError for an option of what is not measured on a machine with several schedulers."""
    option = given(ctx, ("curves", "models", "kernels"))
    if option is not None:
        raise UsageError(f"{option} with schedulers={schedulers}: only the starting times of warps are measured: leave "
                         "it out")


def _starts(executors: Sequence[Execute], config: SmConfig) -> dict[str, Any]:
    from metronome.sim.studies.characterize.expected import shape_of
    from metronome.sim.studies.characterize.starts import StartBench, starts_document

    bench = StartBench(shape_of(config))
    return starts_document([bench.starts(execute(bench, None)) for execute in executors], config.schedulers)


@dataclass(frozen=True, kw_only=True)
class _Measurements:
    """``rows``, the ``document`` of all measurements, and the parameters for the models."""

    rows: Sequence[Row]
    document: dict[str, Any]
    parameters: Parameters


def _silent(line: str) -> None:
    """Discard the output: a micro-benchmark prints nothing."""


def _measure(
    config: SmConfig, request: RunRequest, engine: Engine, backend: Backend, progress: Report, asked: MeasureOptions,
) -> _Measurements:
    from metronome.sim.studies.characterize import measure as measuring
    from metronome.sim.studies.characterize.derive import derive
    from metronome.sim.studies.characterize.document import document
    from metronome.sim.studies.characterize.expected import compare, shape_of
    from metronome.sim.studies.models.parameters import parameters_of

    shape, execute = shape_of(config), _executor(config, request, engine, backend, progress)
    findings = derive(measuring.measure(shape, execute))
    rows = compare(findings, config, memory=request.memory, latency=request.latency)
    counts = measuring.counts_of_warps(config.warps) if asked.curves else sorted({1, config.warps})
    measured = measuring.measure_curves(shape, execute, counts)
    executors = _executors(config, request, engine, backend, progress, asked.repeat)
    repeated = measuring.repeat(shape, executors) if asked.repeat > 1 else {}
    return _Measurements(
        rows=rows, document=document(rows, measured, repeated), parameters=parameters_of(findings, measured)
    )


def _page(document: dict[str, Any], title: str) -> bytes:
    """Return the figures as HTML. The import is local: the plotting library takes a second to import."""
    from metronome.sim.studies.sweep.report.curves import curve_page
    from metronome.sim.studies.sweep.report.page import render

    return render(curve_page(document, title)).encode()


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _print(title: str, rows: Sequence[Row], document: dict[str, Any], curves: bool) -> None:
    console = Console()
    table = new_table("", ">measured", ">config", "said by", title=escape(title))
    for row in rows:
        table.add_row(row.finding.key, _text(row.finding.value) or "?", _text(row.expected), row.source)
    console.print(table)
    console.print(_cpi_table(document["cpi"]))
    console.print(_table_7(document["table_7"]))
    if curves:
        console.print(_curve_table(document["curves"]))
    if document["repeated"]:
        table = new_table("", ">least", ">most", ">varying warps", title="\nslowest warp, repeated")
        for name, each in document["repeated"].items():
            table.add_row(name, str(each["least"]), str(each["most"]), str(len(each["varying_warps"])))
        console.print(table)
    told = sum(row.expected is not None for row in rows)
    wrong = sum(row.differs for row in rows)
    console.print(f"\n{told} numbers compared, {wrong} differ", highlight=False)


def _cpi_table(cpi: Sequence[dict[str, Any]]) -> Any:
    """Return cycles per instruction, with a row for each class, for one warp and for all."""
    counts = sorted({each["warps"] for each in cpi})
    shown = sorted({counts[0], counts[-1]})
    heads = [f">{form}, {warps}" for warps in shown for form in ("indep.", "dep.")]
    title = "\ncycles per instruction of a warp, by number of warps"
    table = new_table("class", "", *heads, title=title)
    by_place = {(each["class"], each["warps"]): each for each in cpi}
    for name in dict.fromkeys(each["class"] for each in cpi):
        values = [_text(by_place[name, warps][form]) for warps in shown for form in ("independent", "dependent")]
        table.add_row(name, by_place[name, shown[0]]["about"], *values)
    return table


def _table_7(rows: Sequence[dict[str, Any]]) -> Any:
    """Return cycles per instruction by the types of the study's Table 7, with one warp."""
    title = "\nTable 7 of the Fermi study: cycles per instruction of one warp"
    table = new_table("type", "", "instructions", ">here", ">Fermi", title=title)
    for each in rows:
        table.add_row(each["type"], each["about"], each["instructions"], _text(each["measured"]), each["fermi"])
    return table


def _curve_table(curves: Sequence[dict[str, Any]]) -> Any:
    """Return the slowest warp's cycles for eight instructions: rows by class and form, columns by number of warps.

    Of many numbers only the powers of two and the last are shown: all are in the JSON.
    """
    counts = sorted({each["warps"] for each in curves})
    if len(counts) > 8:
        counts = [count for count in counts if count & (count - 1) == 0 or count == counts[-1]]
    table = new_table(
        "class", *(f">{warps}" for warps in counts), title="\ncycles of 8 instructions, by number of warps", tight=True
    )
    taken = {(each["class"], each["dependent"], each["warps"]): max(each["cycles"][7]) for each in curves}
    for name, dependent in dict.fromkeys((each["class"], each["dependent"]) for each in curves):
        label = f"{name}, dep." if dependent else name
        table.add_row(label, *(f" {taken[name, dependent, warps]}" for warps in counts))
    return table
