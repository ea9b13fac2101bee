"""``metronome trace``: what happened in every cycle of a run, in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from metronome.sim.machine.engines import Engine
from metronome.sim.show.trace.formats import FORMATS, WAVEFORMS

from ..output.outputs import refuse_shared, require_writable, warn_of_others
from ..process.errors import UsageError
from .asking import with_parameters_of
from .predict import predict
from .run import run, run_traced
from .tracing import FormatOption, trace_files, written

__all__ = ["trace"]


@with_parameters_of(run, without=("trace", "trace_format"))
def trace(
    ctx: typer.Context,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"The file: {', '.join(FORMATS)}. Repeatable."),
    ] = None,
    engine: Annotated[
        Engine, typer.Option("--engine", metavar="NAME", help="rtl: the hardware; predict: computed, for swas.")
    ] = Engine.RTL,
    kind: FormatOption = None,
    first: Annotated[
        int | None, typer.Option("--from", metavar="CYCLE", help="The first cycle of a waveform (.vcd, .fst).")
    ] = None,
    last: Annotated[int | None, typer.Option("--to", metavar="CYCLE", help="The last cycle of a waveform.")] = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option("--diff", metavar="A B", help="Instead of a run: two pages of runs (.html) as one page."),
    ] = None,
    **given: Any,
) -> int:
    """Write what happened in every cycle of a run."""
    if diff is not None:
        return _diff(diff, output, given)
    if not output:
        raise UsageError(f"which file? --output FILE, whose name ends in one of {', '.join(FORMATS)}")
    files = trace_files(output, "--output", kind)
    if engine is Engine.RTL:
        return run_traced(ctx, given, files, "--output", (first, last))
    waveforms = [file.path.name for file in files if file.kind in WAVEFORMS]
    if waveforms or first is not None or last is not None:
        raise UsageError("a waveform is that of the hardware: leave out --engine predict")
    for name in ("check", "memcheck"):
        if given.pop(name):
            raise UsageError(f"--{name} watches the hardware: leave it out, or --engine predict")
    return predict(ctx, issues=None, verify=False, trace=output, trace_format=kind, **given)


def _diff(names: tuple[str, str], output: Sequence[str] | None, given: Mapping[str, Any]) -> int:
    if any(given[name] for name in ("kernel", "elf", "binary")):
        raise UsageError("--diff reads two pages that are there: leave out the program")
    if not output or len(output) > 1 or not output[0].endswith(".html"):
        raise UsageError("--diff makes one page: --output FILE.html")
    one, other = (Path(name).expanduser() for name in names)
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
