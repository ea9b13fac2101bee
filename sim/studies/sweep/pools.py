"""Execution of the runs of a sweep: in processes on this machine, or on the workers of a Dask cluster.

Both handle two kinds of work: builds and runs. A run waits for the build of its machine, or of the model that predicts
it, so that two workers do not wait for the same build while another one has to be made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from ...build.processes import worker_pool
from ...machine.engines import Engine
from .execute import TRIES, build_machine, execute
from .record import Run
from .rows import failed_row

if TYPE_CHECKING:
    from pebble import ProcessPool

__all__ = ["ClusterError", "DaskPool", "Event", "LocalPool", "Pool", "Task"]

#: The time limit for a scheduler's answer.
_CONNECT_SECONDS = 10


class ClusterError(ValueError):
    """The cluster cannot be used; the text is one line."""


@dataclasses.dataclass(frozen=True)
class Task:
    """A run and its key."""

    run: Run
    key: str


@dataclasses.dataclass(frozen=True)
class Event:
    """Progress of a sweep: ``kind`` is ``built`` (``run``: one run of that machine) or ``finished`` with the row."""

    kind: str
    run: Run
    row: dict[str, Any] | None = None


class Pool(Protocol):
    """Executes the runs of a sweep."""

    def events(self, tasks: Sequence[Task]) -> Iterator[Event]:
        """Execute all tasks, in any order. Closing the iterator stops the running ones."""

    def running(self) -> list[str]:
        """Return the current activities, as far as they are known; callable from any thread."""


def _by_build(tasks: Sequence[Task]) -> dict[Any, list[Task]]:
    """Group the tasks by the build that they need: a machine, or the model of one SM or of several."""
    groups: dict[Any, list[Task]] = {}
    for task in tasks:
        model = Engine.PREDICT, task.run.gpu is not None
        groups.setdefault(model if task.run.engine is Engine.PREDICT else task.run.hardware, []).append(task)
    return groups


class LocalPool:
    """Processes of this machine. If one dies, it is replaced and its run is repeated."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        #: Future -> its activity.
        self._titles: dict[Any, str] = {}

    def running(self) -> list[str]:
        """See :class:`Pool`."""
        return [title for future, title in list(self._titles.items()) if future.running()]

    def events(self, tasks: Sequence[Task]) -> Iterator[Event]:
        """See :class:`Pool`. Raises WorkersError."""
        with worker_pool(self._workers) as pool:
            yield from self._events(pool, tasks)

    def _events(self, pool: ProcessPool, tasks: Sequence[Task]) -> Iterator[Event]:
        groups = _by_build(tasks)
        tries: dict[str, int] = {}

        def start(task: Task) -> Any:
            future = pool.schedule(execute, args=[task.run, task.key])
            self._titles[future] = task.run.title
            return future

        # Future -> the task, or the tasks that wait for a build.
        builds = {pool.schedule(build_machine, args=[group[0].run, len(group)]): group for group in groups.values()}
        self._titles |= {future: f"build {_machine_of(group[0].run)}" for future, group in builds.items()}
        runs: dict[Any, Task] = {}
        while builds or runs:
            done, _ = wait([*builds, *runs], return_when=FIRST_COMPLETED)
            for future in done:
                del self._titles[future]
                if future in builds:
                    group = builds.pop(future)
                    # Ignore the result: if the build failed, each of its runs reports that.
                    runs |= {start(task): task for task in group}
                    yield Event("built", group[0].run)
                    continue
                task = runs.pop(future)
                tries[task.key] = tries.get(task.key, 0) + 1
                row = _row_of(future, task, tries[task.key])
                if row is None:
                    runs[start(task)] = task
                else:
                    yield Event("finished", task.run, row)


def _row_of(future: Any, task: Task, tries: int) -> dict[str, Any] | None:
    """Return the row of a run that has ended; None if its process died and the run has to be repeated."""
    from pebble import ProcessExpired

    error = future.exception()
    if error is None:
        return future.result()
    if not isinstance(error, ProcessExpired):
        raise error
    if tries < TRIES:
        return None
    return failed_row(task.run, task.key, f"the process that ran it has died {TRIES} times ({error})")


def _machine_of(run: Run) -> str:
    if run.engine is Engine.PREDICT:
        return "the model" if run.gpu is None else "the model of several SMs"
    config = run.config
    sms = "" if run.gpu is None else f"{run.sms} SMs of "
    return f"{sms}{config.warps}x{config.threads} {config.coordination} {config.prediction}"


def _has_port(address: str) -> bool:
    """Whether this may be a scheduler's address. For others, distributed prints its own complaints much later."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        return bool(parts.hostname and parts.port)
    except ValueError:
        return False


class DaskPool:
    """The workers of an existing Dask cluster. Metronome and the kernels' paths must be available on each."""

    def __init__(self, address: str) -> None:
        self._address = address

    def running(self) -> list[str]:
        """See :class:`Pool`: the scheduler knows, and its own page shows it."""
        return []

    def events(self, tasks: Sequence[Task]) -> Iterator[Event]:
        """See :class:`Pool`. Raises ClusterError if there is no scheduler."""
        try:
            from distributed import Client, as_completed
        except ImportError:
            raise ClusterError("--scheduler needs the Python package distributed: pip install distributed") from None
        if not _has_port(self._address):
            raise ClusterError(f"--scheduler {self._address}: it has no host and port: write tcp://HOST:8786")
        try:
            client = Client(self._address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as refusal:
            raise ClusterError(f"--scheduler {self._address}: no Dask scheduler answers there ({refusal})") from None
        with client:
            running: dict[Any, Task | list[Task]] = {}
            for group in _by_build(tasks).values():
                running[client.submit(build_machine, group[0].run, len(group), pure=False)] = group
            queue = as_completed(list(running), loop=client.loop)
            try:
                for future in queue:
                    what = running.pop(future)
                    if isinstance(what, list):
                        for task in what:
                            new = client.submit(execute, task.run, task.key, pure=False, retries=TRIES)
                            running[new] = task
                            queue.add(new)
                        yield Event("built", what[0].run)
                        continue
                    error = future.exception()
                    row = future.result() if error is None else failed_row(
                        what.run, what.key, f"the worker has failed {TRIES} times: {error}"
                    )
                    yield Event("finished", what.run, row)
            finally:
                client.cancel(list(running))
