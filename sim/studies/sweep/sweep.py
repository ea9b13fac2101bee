"""A sweep: executes the runs of an experiment that have no result yet, and writes each result immediately."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...machine.engines import CannotPredictError, Engine
from ...machine.policies.files import PolicyFileError
from ...program.compiler.elf_cache import ToolchainError
from ...program.kernels import KernelError
from .pools import Event, Pool, Task
from .results import Results
from .spec import Spec, SpecError

__all__ = ["Plan", "plan", "sweep"]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The plan of a sweep: ``tasks`` are all runs in order, ``done`` the keys of those that have a result."""

    spec: Spec
    tasks: tuple[Task, ...]
    done: frozenset[str] = frozenset()

    @property
    def about(self) -> dict[str, Any]:
        """The sweep's description in the folder (:meth:`Results.about`)."""
        spec = self.spec
        return {"name": spec.name, "title": spec.title, "about": spec.about, "spec": spec.text,
                "runs": {task.key: task.run.title for task in self.tasks}}

    @property
    def waiting(self) -> list[Task]:
        """The tasks still to be run."""
        return [task for task in self.tasks if task.key not in self.done]

    @property
    def machines(self) -> int:
        """The number of different simulations that the waiting runs need."""
        return len({task.run.hardware for task in self.waiting if task.run.engine is Engine.RTL})


def plan(spec: Spec, note: Callable[[str], None] = lambda line: None) -> Plan:
    """Return the runs with their keys. Every kernel is built and its inputs are made, to find errors before any run.

    Raises
    ------
    SpecError
        If a kernel does not build or refuses its inputs, or if a run cannot be predicted.
    """
    tasks = []
    for run in spec.runs:
        note(f"prepare ({run.title})")
        try:
            run.refuse()
            tasks.append(Task(run, run.key()))
        except (CannotPredictError, KernelError, PolicyFileError, ToolchainError) as error:
            raise SpecError(f"{spec.file}: {run.title}: {error}" if spec.file else f"{run.title}: {error}") from None
    return Plan(spec, tuple({task.key: task for task in tasks}.values()))


def sweep(planned: Plan, folder: Path, pool: Pool, *, forget: bool = False) -> Iterator[tuple[Plan, Event | None]]:
    """Execute a plan; yield the plan updated with existing results, and then every event.

    ``forget``: delete results that are not of this sweep, instead of refusing their folder.

    Raises
    ------
    ResultsError
        If the folder cannot be used.
    """
    results = Results(folder)
    with results.locked():
        here = dataclasses.replace(planned, done=frozenset(results.begin(planned.about, forget=forget)))
        yield here, None
        with contextlib.closing(pool.events(here.waiting)) as events:  # type: ignore[type-var]  # a generator
            for event in events:
                if event.row is not None:
                    results.add(event.row)
                yield here, event
