"""One run of an experiment, wherever it is executed: here, in a process of its own, or on a worker of a cluster."""

from __future__ import annotations

from typing import Any

from ..build import BuildError, build
from ..elf import ImageError
from ..kernel import KernelError
from ..outcome import Outcome
from ..runner import SimulationError
from ..runner import run as simulate
from ..toolchain import ToolchainError
from .record import Run
from .rows import failed_row, result_row

__all__ = ["TRIES", "build_machine", "execute"]

#: So often a run is begun whose process dies, be it that of the simulation or the worker's own.
TRIES = 3
#: What says in a line for people what is wrong.
_PLAIN = (BuildError, ImageError, KernelError, SimulationError, ToolchainError)


def execute(run: Run, key: str) -> dict[str, Any]:
    """The row of the run. What goes wrong with it is the row's ``reason``."""
    try:
        return result_row(run, key, _simulated(run))
    except Exception as error:  # whatever it is: the sweep goes on, and the row has it
        text = str(error) if isinstance(error, _PLAIN) else f"{type(error).__name__}: {error}"
        return failed_row(run, key, text.splitlines()[0].strip().rstrip(":") if text else type(error).__name__)


def _simulated(run: Run) -> Outcome:
    launch = run.prepare()
    request = run.request(launch)
    for left in reversed(range(TRIES)):
        try:
            result = simulate(run.config, request)
            break
        except SimulationError:  # it may have been killed for want of memory
            if not left:
                raise
    return Outcome(machine=run, config=run.config, launch=launch, request=request, result=result)


def build_machine(run: Run) -> str | None:
    """Build the simulation of the run's machine unless the cache has it; what went wrong, if something did."""
    try:
        build(run.config)
    except BuildError as error:
        return " ".join(str(error).split())
    return None
