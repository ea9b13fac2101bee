"""One run of an experiment, wherever it is executed: here, in a process of its own, or on a worker of a cluster."""

from __future__ import annotations

from typing import Any

from ..build import BuildError, build
from ..outcome import Outcome
from ..runner import run as simulate
from .record import Run
from .rows import failed_row, result_row

__all__ = ["build_machine", "execute"]


def execute(run: Run, key: str) -> dict[str, Any]:
    """The row of the run. What goes wrong with it is the row's ``reason``."""
    try:
        launch = run.prepare()
        result = simulate(run.config, run.request(launch))
        outcome = Outcome(
            machine=run, config=run.config, launch=launch, request=run.request(launch), result=result,
        )
        return result_row(run, key, outcome)
    except Exception as error:  # whatever it is: the sweep goes on, and the row has it
        return failed_row(run, key, " ".join(f"{type(error).__name__}: {error}".split()))


def build_machine(run: Run) -> str | None:
    """Build the simulation of the run's machine unless the cache has it; what went wrong, if something did."""
    try:
        build(run.config)
    except BuildError as error:
        return " ".join(str(error).split())
    return None
