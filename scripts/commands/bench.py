"""``metronome bench``: speed of the simulation and of the golden model, and time of a build."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from metronome.hdl.presets import PRESETS
from metronome.sim.machine.memory.names import MEMORY_MODELS

from ..options.common import JsonOption, choose, json_target, listed, positive
from ..options.machine import DEFAULT_PRESET, ConfigOption, MachineOptions, PipelineOption, SetOption, machine_of
from ..options.running import LatencyOption, memory_latency
from ..options.schemes import SchemeOptions, chip_of, require_effects
from ..output.outputs import refuse_inputs, waves, write_json
from ..process.backend import Backend, backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress
from ..process.terminal import Console
from .bench_cases import SIZES, Asked, Kind, RunFailed, prepare_cases
from .bench_compare import changes, print_changes, read_earlier
from .bench_loop import loop_fields, loop_sentence, with_loops
from .bench_predict import is_same, measure_predictions, predictions_table
from .bench_run import golden_line, measure_simulations, simulations_table
from .bench_trace import measure_traces, traces_table
from .bench_units import measure_units, not_routed, units_table
from .result import print_outcome

__all__ = ["bench"]

_CAVEAT = "Medians on this machine, now. Other load on it changes them by tens of percent."
_MEASURES = {Kind.SIMULATION: measure_simulations, Kind.PREDICTION: measure_predictions, Kind.TRACE: measure_traces}
_TABLES = {Kind.SIMULATION: simulations_table, Kind.PREDICTION: predictions_table, Kind.TRACE: traces_table}


@contextmanager
def _cache(cold: bool) -> Iterator[None]:
    """Use the build cache as it is, or an empty temporary one."""
    if not cold:
        yield
        return
    before = os.environ.get("METRONOME_CACHE")
    with tempfile.TemporaryDirectory(prefix="metronome-bench-") as folder:
        os.environ["METRONOME_CACHE"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["METRONOME_CACHE"]
            else:
                os.environ["METRONOME_CACHE"] = before


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """The measurements to make."""

    preset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help=f"Sizes, with commas: {', '.join(PRESETS)}. Repeatable; default: BASE."),
    ] = None
    settings: SetOption = None
    config_file: ConfigOption = None
    pipeline: PipelineOption = None
    kernel: Annotated[str, typer.Option(metavar="NAME", help=f"The kernel: {', '.join(SIZES)}.")] = "psort"
    repeat: Annotated[int, typer.Option(metavar="N", help="Runs of each measurement; the median is reported.")] = 3
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="MODEL", help=f"The memory model: {', '.join(MEMORY_MODELS)}.")
    ] = None
    latency: LatencyOption = None
    predict: Annotated[
        bool,
        typer.Option(
            "--predict", help="Also measure the prediction of each run; default: PAPER, with fixed and dram memory.",
        ),
    ] = False
    trace: Annotated[bool, typer.Option("--trace", help="Measure the cost of writing a trace, by format.")] = False
    cold: Annotated[
        bool,
        typer.Option("--cold", help="Build everything from scratch, in an empty temporary cache."),
    ] = False
    synth: Annotated[
        list[str] | None,
        typer.Option(
            "--synth", metavar="UNITS",
            help="Also measure area and clock rate of these units of metronome synth, with commas. Repeatable.",
        ),
    ] = None
    compare: Annotated[
        str | None,
        typer.Option(metavar="OTHER", help="Compare with an earlier measurement: a file written by bench --json."),
    ] = None


def _asked(options: BenchOptions) -> Asked:
    """Check the options and return the measurement they request."""
    positive("--repeat", options.repeat)
    if options.predict and options.trace:
        raise UsageError("--predict and --trace are two things to measure: one at a time")
    kind = Kind.PREDICTION if options.predict else Kind.TRACE if options.trace else Kind.SIMULATION
    kernel = choose("--kernel", options.kernel, SIZES)
    chosen = None if options.memory is None else choose("--memory", options.memory, MEMORY_MODELS)
    usual = ["PAPER" if options.predict else DEFAULT_PRESET]
    names = [name for text in options.preset or usual for name in listed("--preset", text)]
    machines = [
        machine_of(MachineOptions(
            preset=name, settings=options.settings, config_file=options.config_file, pipeline=options.pipeline,
        ))
        for name in names
    ]
    for machine in machines:
        require_effects(machine, [machine.config])
    if options.predict and chosen is None:
        memories = {"fixed": memory_latency("fixed", options.latency), "dram": 1}
    else:
        memory = chosen or "fixed"
        memories = {memory: memory_latency(memory, options.latency)}
    units = _units(options.synth or [])
    return Asked(
        kind=kind, machines={machine.preset: machine for machine in machines}, config_file=options.config_file,
        kernel=kernel, repeat=options.repeat, memories=memories, cold=options.cold, units=units,
        chips={machine.preset: chip_of(machine, SchemeOptions()) for machine in machines} if units else {},
    )


def _units(texts: Sequence[str]) -> list[str]:
    """Return the units of --synth, each once."""
    if not texts:
        return []
    from metronome.sim.fpga.synth import UNITS  # the whole hardware, which takes long to import

    names = [name for text in texts for name in listed("--synth", text)]
    return list(dict.fromkeys(choose("--synth", name, UNITS) for name in names))


def bench(ctx: typer.Context, *, options: BenchOptions, json_file: JsonOption = None) -> int:
    """Measure simulated cycles a second (cocotb and memory model, no lock step), builds, and the golden model.

    Each speed is also given per loop: in the time of a loop in Python, so that it compares between machines.
    """
    asked = _asked(options)
    target = json_target(json_file)
    refuse_inputs(target, {"--config": options.config_file, "--compare": options.compare}, waves())
    earlier = None if options.compare is None else read_earlier(options.compare, asked)
    try:
        document = _measure(backend_of(ctx), asked)
    except RunFailed as failed:
        print_outcome(failed.outcome, table=False)
        return failed.outcome.exit_status
    compared = None if earlier is None else changes(earlier, document)
    if json_file is not None:
        more = {} if compared is None else {"compared": [change.as_json() for change in compared]}
        write_json(target, {**document, **more})
    if json_file is None or target is not None:
        console = Console(highlight=False)
        _print(console, asked.kind, document)
        if earlier is not None and compared is not None:
            console.print()
            print_changes(console, earlier, document, compared)
    if asked.kind is Kind.PREDICTION and not is_same(document):
        return Exit.CHECK_FAILED
    lost = list(not_routed(document.get("units", {})))
    for line in lost:
        print(f"metronome: {line}", file=sys.stderr)
    return Exit.NOT_ROUTED if lost else Exit.PASSED


def _measure(backend: Backend, asked: Asked) -> dict[str, Any]:
    """Return the JSON. The loop is timed before and after the runs: its spread shows changes of the machine's load."""
    with _cache(asked.cold), show_progress() as progress:
        cases = prepare_cases(backend, asked)
        progress("loop in Python")
        times = [backend.loop_time()]
        figures = _MEASURES[asked.kind](backend, cases, asked.repeat, progress)
        progress("loop in Python once more")
        times += [backend.loop_time(), backend.loop_time()]
        units = {"units": measure_units(backend, asked, progress)} if asked.units else {}
        return {**asked.conditions(), **loop_fields(times), **with_loops(figures, min(times)), **units}


def _print(console: Console, kind: Kind, document: Mapping[str, Any]) -> None:
    console.print(_TABLES[kind](document))
    if kind is Kind.SIMULATION:
        console.print(golden_line(document))
    console.print(loop_sentence(document))
    console.print(_CAVEAT)
    if "units" in document:
        console.print()
        console.print(units_table(document["units"]))
