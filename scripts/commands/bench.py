"""``metronome bench``: how fast the simulation and the golden model run, and how long a build takes."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from metronome.hdl.presets import PRESETS
from metronome.sim.machine.memory.names import DRAM_MODELS, MEMORY_MODELS

from ..options.common import JsonOption, choose, json_target, listed, positive
from ..options.machine import DEFAULT_PRESET, ConfigOption, Machine, MachineOptions, SetOption, machine_of
from ..options.running import LatencyOption, memory_latency
from ..output.outputs import refuse_inputs, waves, write_json
from ..output.tables import new_table
from ..process.backend import Backend, backend_of
from ..process.errors import Exit, UsageError
from ..process.progress import Report, show_progress
from ..process.terminal import Console
from .bench_predict import measure_prediction, prediction_table
from .bench_trace import measure_traces, traces_table
from .result import Outcome, print_outcome

__all__ = ["bench"]

#: Elements to sort, side of a matrix: enough cycles that starting the simulation does not count.
SIZES = {
    "psort": {"TINY": 256, "BASE": 512, "MID": 512, "PAPER": 1024, "ULX3S": 256},
    "sgemm": {"TINY": 16, "BASE": 24, "MID": 32, "PAPER": 64, "ULX3S": 16},
}
CAVEAT = "Medians on this machine, now: what else runs on it moves them by tens of percent."


@contextmanager
def _cache(cold: bool) -> Iterator[None]:
    """The build cache as it is, or an empty one that is gone afterwards."""
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


def _measure(
    backend: Backend, asked: Machine, kernel: str, repeat: int, memory: str, latency: int, progress: Report
) -> tuple[Outcome, dict[str, Any]]:
    """The last run and the figures of one preset. The first run builds; every run counts for the speed."""
    from metronome.sim.run.types import RunRequest

    config, preset = asked.config, asked.preset
    backend.require_tools([config])
    launch = backend.prepare(kernel, None, SIZES[kernel][preset], 1, config)
    request = RunRequest(
        launch=launch, policy=config.policies[0],
        fetch_policy=config.fetch_policies[0] if config.fetch_policies else None, memory=memory, latency=latency,
        check=False,
    )
    results = []
    for _ in range(repeat):
        result = backend.run(config, request, lambda step: progress(f"{preset}: {step}"), lambda line: None)
        results.append(result)
        outcome = Outcome(machine=asked, config=config, launch=launch, request=request, result=result)
        if outcome.exit_status != Exit.PASSED:
            break
    speeds = [result.cycles_per_second for result in results]
    return outcome, {
        "cycles_per_second": statistics.median(speeds),
        "elaborate_seconds": results[0].elaborate_seconds,
        "build_seconds": results[0].build_seconds,
        "total_cycles": results[0].total_cycles,
        "python_share": statistics.median(
            result.python_seconds / result.sim_seconds if result.sim_seconds else 0.0 for result in results
        ),
        "runs": speeds,
    }


def _predict(
    backend: Backend, asked: Mapping[str, Machine], kernel: str, repeat: int, memories: Mapping[str, int],
    json_file: str | None, target: Path | None,
) -> Exit:
    """``--predict``. What was counted has to be the same."""
    figures: dict[str, dict[str, Any]] = {}
    with show_progress() as progress:
        for name, its in asked.items():
            found = measure_prediction(backend, its, kernel, SIZES[kernel][name], repeat, memories, progress)
            for memory, outcome, figure in found:
                if outcome.exit_status != Exit.PASSED:
                    print_outcome(outcome, table=False)
                    return outcome.exit_status
                figures.setdefault(name, {})[memory] = figure
    sizes = {name: SIZES[kernel][name] for name in figures}
    if json_file is not None:
        write_json(target, {
            "set": dict(next(iter(asked.values())).settings), "presets": figures, "kernel": kernel, "sizes": sizes,
            "repeat": repeat, "memories": dict(memories),
        })
    if json_file is None or target is not None:
        console = Console(highlight=False)
        console.print(prediction_table(kernel, sizes, figures))
        console.print(CAVEAT)
    same = all(figure["same"] for by_memory in figures.values() for figure in by_memory.values())
    return Exit.PASSED if same else Exit.CHECK_FAILED


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value else "cached"


def _table(kernel: str, figures: dict[str, dict[str, Any]]) -> Table:
    """Python: the memory model, and the switching between it and the simulated SM."""
    table = new_table("preset", ">size", ">cycles", ">cycles/s", ">Python", ">elaboration s", ">build s")
    for preset, figure in figures.items():
        table.add_row(
            preset, str(SIZES[kernel][preset]), str(figure["total_cycles"]), f"{figure['cycles_per_second']:.0f}",
            f"{100 * figure['python_share']:.0f} %", _seconds(figure["elaborate_seconds"]),
            _seconds(figure["build_seconds"]),
        )
    return table


def _trace(
    backend: Backend, asked: Mapping[str, Machine], kernel: str, repeat: int, memory: str, latency: int,
    json_file: str | None, target: Path | None,
) -> Exit:
    """``--trace``."""
    figures: dict[str, dict[str, Any]] = {}
    sizes = {name: SIZES[kernel][name] for name in asked}
    with show_progress() as progress:
        for name, its in asked.items():
            outcome, figures[name] = measure_traces(
                backend, its, kernel, sizes[name], repeat, memory, latency, progress
            )
            if outcome.exit_status != Exit.PASSED:
                print_outcome(outcome, table=False)
                return outcome.exit_status
    if json_file is not None:
        write_json(target, {
            "set": dict(next(iter(asked.values())).settings), "presets": figures, "kernel": kernel, "sizes": sizes,
            "repeat": repeat, "memory": memory,
        })
    if json_file is None or target is not None:
        console = Console(highlight=False)
        console.print(traces_table(kernel, sizes, figures))
        console.print(CAVEAT)
    return Exit.PASSED


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What is measured."""

    preset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help=f"Sizes, with commas: {', '.join(PRESETS)}. Repeatable; default: BASE."),
    ] = None
    settings: SetOption = None
    config_file: ConfigOption = None
    kernel: Annotated[str, typer.Option(metavar="NAME", help=f"The kernel: {', '.join(SIZES)}.")] = "psort"
    repeat: Annotated[int, typer.Option(metavar="N", help="Runs of each; the median is reported.")] = 3
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="MODEL", help=f"The memory model: {', '.join(MEMORY_MODELS)}.")
    ] = None
    latency: LatencyOption = None
    predict: Annotated[
        bool, typer.Option("--predict", help="Beside each simulation its prediction; default: PAPER, fixed and dram.")
    ] = False
    trace: Annotated[bool, typer.Option("--trace", help="What writing a trace costs, by format.")] = False
    cold: Annotated[bool, typer.Option("--cold", help="Build everything anew, in an empty temporary cache.")] = False


def bench(ctx: typer.Context, *, options: BenchOptions, json_file: JsonOption = None) -> int:
    """Measure simulated cycles a second (cocotb and memory model, no lock step), builds, and the golden model."""
    repeat, latency, settings = options.repeat, options.latency, options.settings
    positive("--repeat", repeat)
    if options.predict and options.trace:
        raise UsageError("--predict and --trace are two things to measure: one at a time")
    kernel = choose("--kernel", options.kernel, SIZES)
    chosen = None if options.memory is None else choose("--memory", options.memory, MEMORY_MODELS)
    usual = ["PAPER" if options.predict else DEFAULT_PRESET]
    names = [name for text in options.preset or usual for name in listed("--preset", text)]
    asked = {its.preset: its for its in (
        machine_of(MachineOptions(preset=name, settings=settings, config_file=options.config_file)) for name in names)}
    target = json_target(json_file)
    refuse_inputs(target, {"--config": options.config_file}, waves())
    backend = backend_of(ctx)
    if options.predict:
        asked_for = {chosen: memory_latency(chosen, latency)} if chosen else {
            "fixed": memory_latency("fixed", latency), "dram": 1,
        }
        with _cache(options.cold):
            return _predict(backend, asked, kernel, repeat, asked_for, json_file, target)
    memory = chosen or "fixed"
    cycles = memory_latency(memory, latency)
    figures: dict[str, dict[str, Any]] = {}
    if options.trace:
        with _cache(options.cold):
            return _trace(backend, asked, kernel, repeat, memory, cycles, json_file, target)
    with _cache(options.cold), show_progress() as progress:
        for name, its in asked.items():
            outcome, figures[name] = _measure(backend, its, kernel, repeat, memory, cycles, progress)
            if outcome.exit_status != Exit.PASSED:
                print_outcome(outcome, table=False)
                return outcome.exit_status
        progress("golden model")
        iss = statistics.median(backend.iss_speed() for _ in range(repeat))
    if json_file is not None:
        write_json(target, {
            "set": dict(next(iter(asked.values())).settings), "config_file": options.config_file, "presets": figures,
            "iss_instructions_per_second": iss, "kernel": kernel,
            "sizes": {name: SIZES[kernel][name] for name in figures}, "repeat": repeat, "memory": memory,
            "latency": None if memory in DRAM_MODELS else cycles, "cold": options.cold,
        })
    if json_file is None or target is not None:
        console = Console(highlight=False)
        console.print(_table(kernel, figures))
        console.print(f"Golden model: {iss:.0f} warp-instructions/s (psort, PAPER, size 1024). {CAVEAT}")
    return Exit.PASSED
