"""``metronome trace``: what happened in every cycle of a run, in files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from metronome.sim.engines import Engine

from .asking import with_parameters_of
from .errors import UsageError
from .predict import predict
from .run import run, run_traced
from .tracing import FORMATS, trace_files

__all__ = ["trace"]


@with_parameters_of(run, without=("trace",))
def trace(
    ctx: typer.Context,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"The file: {', '.join(FORMATS)}. Repeatable."),
    ] = None,
    engine: Annotated[
        Engine, typer.Option("--engine", metavar="NAME", help="rtl: the hardware; predict: computed, for swas.")
    ] = Engine.RTL,
    **given: Any,
) -> int:
    """Write what happened in every cycle of a run."""
    if not output:
        raise UsageError(f"which file? --output FILE, whose name ends in one of {', '.join(FORMATS)}")
    if engine is Engine.RTL:
        return run_traced(ctx, given, trace_files(output, "--output"), "--output")
    for name in ("check", "memcheck"):
        if given.pop(name):
            raise UsageError(f"--{name} watches the hardware: leave it out, or --engine predict")
    return predict(ctx, issues=None, verify=False, trace=output, **given)
