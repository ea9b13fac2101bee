"""A sweep: the runs of an experiment that are not done yet, executed, each result written as soon as it is there."""

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
    """What a sweep will do: ``tasks`` all runs in order, ``done`` the keys of those whose result is there."""

    spec: Spec
    tasks: tuple[Task, ...]
    done: frozenset[str] = frozenset()

    @property
    def about(self) -> dict[str, Any]:
        """What the folder says of the sweep (:meth:`Results.about`)."""
        spec = self.spec
        return {"name": spec.name, "title": spec.title, "about": spec.about, "spec": spec.text,
                "runs": {task.key: task.run.title for task in self.tasks}}

    @property
    def waiting(self) -> list[Task]:
        """What is to be run."""
        return [task for task in self.tasks if task.key not in self.done]

    @property
    def machines(self) -> int:
        """Different simulations that the waiting runs need."""
        return len({task.run.config for task in self.waiting if task.run.engine is Engine.RTL})


def plan(spec: Spec, note: Callable[[str], None] = lambda line: None) -> Plan:
    """The runs with their keys. Every kernel is built and its inputs made: a mistake shows before anything runs.

    Raises
    ------
    SpecError
        For a kernel that does not build or refuses its inputs, and for what cannot be predicted.
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
    """Do what is planned; yields the plan with what is done already, and then every event behind it.

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
