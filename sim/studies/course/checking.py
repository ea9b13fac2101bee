"""Runs submissions case by case, in processes that are reused; each submission is executed apart (:mod:`.sandbox`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...build.processes import begin_worker, worker_pool
from ...predict.choosing import PickError
from ...predict.model.compiled import is_compiled
from ...predict.predictor import Recordings, prepare
from .cases import TASKS, Case, CaseError, Kit, Statistics, launch_of, measure, patience
from .difference import Difference, first_difference
from .remote import Sandbox
from .submission import SubmissionError, inspect

__all__ = ["Outcome", "check"]

#: Processes for one submission, and for several. Each waits half of its time for the one that executes a submission.
_WORKERS, _MOST_WORKERS = 2, 4


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a case: its ``statistics``, or what is ``wrong`` with the submission.

    If it has neither, the case did not end within the machine's cycle limit. ``difference``: the first one, unless the
    statistic is exact.
    """

    case: Case
    statistics: Statistics | None = None
    wrong: str | None = None
    difference: Difference | None = None


class _Worker:
    """The data that a process keeps from one submission to the next."""

    def __init__(self) -> None:
        self.sandbox = Sandbox()
        self._recordings: dict[str, Recordings] = {}

    def recordings(self, case: Case) -> Recordings:
        """The instructions of the case's program, recorded once."""
        return self._recordings.setdefault(case.name, Recordings())


_worker: _Worker


def _begin(parent: int) -> None:
    global _worker
    begin_worker(parent)
    _worker = _Worker()
    prepare()


def _work(path: Path, kit: Kit, cases: Sequence[Case], seconds: float) -> list[Outcome]:
    """In another process, return the outcomes of the cases up to the first error."""
    outcomes: list[Outcome] = []
    for case in cases:
        outcomes.append(_outcome(path, kit, case, seconds))
        if outcomes[-1].wrong is not None:
            break
    return outcomes


def _outcome(path: Path, kit: Kit, case: Case, seconds: float) -> Outcome:
    kind, config, reference = TASKS[case.task].stands_for, case.config(), kit.reference[case.name]
    most, recordings = patience(reference), _worker.recordings(case)
    begun = False
    try:
        with _worker.sandbox.execute(path, kind, config, seconds) as policy:
            begun = True
            statistics = measure(case, kit.folder, policy, most_cycles=most, recordings=recordings)
    except (SubmissionError, CaseError) as error:
        return Outcome(case=case, wrong=f"{error} (on {case.name})" if begun else str(error))
    except PickError as error:
        return Outcome(case=case, wrong=f"{path.name}: class {kind}: {' '.join(str(error).split())} (on {case.name})")
    statistic = TASKS[case.task].statistic
    difference = None
    if statistics is None or statistics.value(statistic) != reference.value(statistic):
        try:
            with _worker.sandbox.execute(path, kind, config, seconds) as policy:
                difference = first_difference(case, kit.folder, policy, most_cycles=most, recordings=recordings)
        except (SubmissionError, CaseError, PickError) as error:
            # There was no error before: the policy does not behave the same way twice.
            text = " ".join(str(error).split()).removeprefix(f"{path.name}: ")
            return Outcome(case=case, wrong=f"{path.name}: a second run of {case.name} was another one: {text}")
    return Outcome(case=case, statistics=statistics, difference=difference)


def check(
    paths: Sequence[Path], kit: Kit, *, seconds: float, tell: Callable[[str], None] = lambda step: None
) -> Iterator[tuple[Path, list[Outcome]]]:
    """Run the cases of ``kit`` for each submission, in order; those of a task only up to its first error.

    ``seconds``: the time limit of a case. ``tell`` is called with the name of each step.
    Raises WorkersError, and CaseError if a case cannot be prepared.
    """
    unfit = {path: error for path in paths if (error := _error_of(path)) is not None}
    fit = [path for path in paths if path not in unfit]
    with contextlib.ExitStack() as stack:
        runs: dict[Path, list[tuple[int, Any]]] = {}
        if fit:
            _prepare(kit, tell)
            parts = _parts(kit, whole_tasks=len(fit) > 1)
            most = _WORKERS if len(fit) == 1 else _MOST_WORKERS
            pool = stack.enter_context(worker_pool(min(most, len(fit) * len(parts)), _begin))
            runs = {
                path: [(cases[0].task, pool.schedule(_work, args=[path, kit, cases, seconds])) for cases in parts]
                for path in fit
            }
        for number, path in enumerate(paths):
            tell(f"run {path.name}" + (f" ({number + 1} of {len(paths)})" if len(paths) > 1 else ""))
            if path in unfit:
                # One error of the whole file.
                yield path, [Outcome(case=case, wrong=unfit[path]) for case in kit.cases]
            else:
                yield path, _outcomes(path, kit, runs[path])


def _parts(kit: Kit, *, whole_tasks: bool) -> list[list[Case]]:
    """The cases that a process runs together. Of one submission each alone: several processes share a task."""
    if not whole_tasks:
        return [[case] for case in kit.cases]
    return [[case for case in kit.cases if case.task == task] for task in sorted({case.task for case in kit.cases})]


def _error_of(path: Path) -> str | None:
    try:
        inspect(path)
    except SubmissionError as error:
        return str(error)
    return None


def _prepare(kit: Kit, tell: Callable[[str], None]) -> None:
    """Do what is done only once, so that it does not count towards a submission's time."""
    if not is_compiled():
        tell("compile the model (half a minute, once)")
    prepare()
    tell("prepare the kernels")
    for case in kit.cases:
        launch_of(case, kit.folder)


def _outcomes(path: Path, kit: Kit, runs: Sequence[tuple[int, Any]]) -> list[Outcome]:
    """Wait for the runs of a submission, each with its task; those of a task only up to its first error."""
    from pebble import ProcessExpired

    outcomes: list[Outcome] = []
    failed: set[int] = set()
    for task, future in runs:
        if task in failed:
            future.cancel()
            continue
        try:
            outcomes += future.result()
        except ProcessExpired:
            case = next(case for case in kit.cases if case.task == task)
            outcomes.append(Outcome(case=case, wrong=f"{path.name}: the process that runs task {task} has ended"))
        if outcomes[-1].wrong is not None:
            failed.add(task)
    return outcomes
