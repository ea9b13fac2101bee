"""``metronome trace``: files that show every cycle of a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from metronome.sim.machine.engines import Engine
from metronome.sim.machine.user_paths import user_path
from metronome.sim.show.trace.formats import FIGURES, FORMATS, WAVEFORMS

from ..options.common import JsonOption
from ..options.gpu import GpuOptions
from ..options.program import ProgramOptions
from ..options.running import MaxCyclesOption
from ..output.outputs import refuse_shared, require_writable, warn_of_others
from ..process.errors import UsageError
from .asking import MAX_CYCLES, RunOptions, ShownOptions, SubjectOptions, WatchOptions
from .predicting import Computed, compute
from .simulating import simulate
from .tracing import FormatOption, trace_files, written

__all__ = ["trace"]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The files of ``metronome trace`` and their contents."""

    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"The file: {', '.join(FORMATS)}. Repeatable."),
    ] = None
    engine: Annotated[
        Engine, typer.Option("--engine", metavar="NAME", help="rtl: the hardware; predict: computed, for swas.")
    ] = Engine.RTL
    kind: FormatOption = None
    first: Annotated[
        int | None, typer.Option("--from", metavar="CYCLE", help="The first cycle of a figure or a waveform.")
    ] = None
    last: Annotated[int | None, typer.Option("--to", metavar="CYCLE", help="The last cycle of it.")] = None
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="A B", help="Merge the pages (.html) of two runs into one, instead of running."),
    ] = None


def trace(
    ctx: typer.Context, *, subject: SubjectOptions, max_cycles: MaxCyclesOption = MAX_CYCLES, watch: WatchOptions,
    shown: ShownOptions, gpu: GpuOptions, json_file: JsonOption = None, files: FileOptions,
) -> int:
    """Write a trace of every cycle of a run."""
    if files.diff is not None:
        return _diff(files.diff, files.output, subject.program)
    if not files.output:
        raise UsageError(f"which file? --output FILE, whose name ends in one of {', '.join(FORMATS)}")
    traces = trace_files(files.output, "--output", files.kind)
    options = RunOptions(
        subject=subject, max_cycles=max_cycles, watch=watch, shown=shown, json_file=json_file, gpu=gpu)
    if files.engine is Engine.RTL:
        return simulate(ctx, options, traces, "--output", (files.first, files.last))
    waveforms = [file.path.name for file in traces if file.kind in WAVEFORMS]
    if waveforms:
        raise UsageError("a waveform is that of the hardware: leave out --engine predict")
    if not any(file.kind in FIGURES for file in traces) and (files.first is not None or files.last is not None):
        raise UsageError("--from and --to are for a figure: --output FILE.svg or FILE.pdf")
    for name, asked in (("check", watch.check), ("memcheck", watch.memcheck)):
        if asked:
            raise UsageError(f"--{name} watches the hardware: leave it out, or --engine predict")
    options = dataclasses.replace(options, watch=WatchOptions(strict_races=watch.strict_races))
    return compute(ctx, options, Computed(traces=traces, option="--output", window=(files.first, files.last)))


def _diff(names: tuple[str, str], output: Sequence[str] | None, program: ProgramOptions) -> int:
    if any((program.kernel, program.elf, program.binary)):
        raise UsageError("--diff reads two pages that are there: leave out the program")
    if not output or len(output) > 1 or not output[0].endswith(".html"):
        raise UsageError("--diff makes one page: --output FILE.html")
    one, other = (user_path(name) for name in names)
    target = require_writable(output[0], "--output")
    refuse_shared([("--output", target)], [("--diff", one), ("--diff", other)])
    from metronome.sim.show.trace.difference import PageError, write_difference

    for path in (one, other):
        try:
            path.open("rb").close()
        except OSError as error:
            raise UsageError(f"--diff: cannot read {path}: {error.strerror or error}") from None
    with written(target) as file, file.errors():
        try:
            records = write_difference((one, other), file.file)
        except PageError as error:
            raise UsageError(f"--diff: {error}") from None
    for path, record in zip((one, other), records, strict=True):
        warn_of_others(path.name, [record])
    return 0
