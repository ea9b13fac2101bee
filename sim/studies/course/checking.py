"""Runs a submission case by case, each in a process that a submission may crash or block."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from ...build.processes import begin_worker, worker_pool
from ...machine.policies.base import Policy
from ...predict.choosing import PickError
from ...predict.model.compiled import is_compiled
from ...predict.predictor import prepare
from .cases import TASKS, Case, Kit, Statistics, launch_of, measure, patience
from .submission import SubmissionError, guarded, load, policy_of, where

__all__ = ["Outcome", "check"]

_WORKERS = 2
#: A process that does not stop at its own time limit is killed after this many more seconds.
_GRACE_SECONDS = 5


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a case: its ``statistics``, or what is ``wrong`` with the submission.

    If it has neither, the case did not end within the machine's cycle limit.
    """

    case: Case
    statistics: Statistics | None = None
    wrong: str | None = None


class _TooLongError(BaseException):
    """Raised by the alarm; no exception handler of the submission catches it."""


class _Guarded:
    """A submission's policy, whose errors become SubmissionErrors."""

    def __init__(self, path: Path, policy: Policy[Any]) -> None:
        self._path, self._policy = path, policy

    def reset(self) -> Any:
        return guarded(self._path, self._policy.reset)

    def pick(self, state: Any, inputs: Any) -> Any:
        return guarded(self._path, lambda: self._policy.pick(state, inputs))

    def update(self, state: Any, inputs: Any, picked: Any) -> Any:
        return guarded(self._path, lambda: self._policy.update(state, inputs, picked))


def _alarm(number: int, frame: FrameType | None) -> NoReturn:
    raise _TooLongError


def _begin(parent: int) -> None:
    begin_worker(parent)
    signal.signal(signal.SIGALRM, _alarm)
    prepare()


def _work(path: Path, kit: Kit, case: Case, seconds: float) -> tuple[Statistics | None, str | None]:
    """In a separate process, return the statistics and any error. The submission's output is not shown."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                return _measured(path, kit, case)
            except _TooLongError as error:
                return None, f"{where(path, error)}: it takes longer than {seconds:g} s (on {case.name})"
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)


def _measured(path: Path, kit: Kit, case: Case) -> tuple[Statistics | None, str | None]:
    kind = TASKS[case.task].stands_for
    try:
        policy: Any = _Guarded(path, policy_of(path, load(path), kind, case.config()))
    except SubmissionError as error:
        return None, str(error)
    try:
        return measure(case, kit.folder, policy, most_cycles=patience(kit.reference[case.name])), None
    except SubmissionError as error:
        return None, f"{error} (on {case.name})"
    except PickError as error:
        return None, f"{path.name}: class {kind}: {' '.join(str(error).split())} (on {case.name})"


def check(
    path: Path, kit: Kit, *, seconds: float, tell: Callable[[str], None] = lambda step: None
) -> Iterator[Outcome]:
    """Run the cases of ``kit`` in order; those of a task only up to its first error.

    ``seconds``: the time limit of a case. ``tell`` is called with the name of each step.
    Raises WorkersError.
    """
    # Work that is done only once does not count towards the submission's time.
    if not is_compiled():
        tell("compile the model (half a minute, once)")
    prepare()
    tell("prepare the kernels")
    for case in kit.cases:
        launch_of(case, kit.folder)
    with worker_pool(max(1, min(_WORKERS, len(kit.cases))), _begin) as pool:
        futures = {
            case.name: pool.schedule(_work, args=[path, kit, case, seconds], timeout=seconds + _GRACE_SECONDS)
            for case in kit.cases
        }
        failed: set[int] = set()
        for case in kit.cases:
            if case.task in failed:
                futures[case.name].cancel()
                continue
            tell(f"run {case.name}")
            outcome = _outcome(path, case, futures[case.name], seconds)
            if outcome.wrong is not None:
                failed.add(case.task)
            yield outcome


def _outcome(path: Path, case: Case, future: Any, seconds: float) -> Outcome:
    from pebble import ProcessExpired

    try:
        statistics, wrong = future.result()
    except TimeoutError:
        statistics, wrong = None, f"{path.name}: it takes longer than {seconds:g} s (on {case.name})"
    except ProcessExpired:
        statistics, wrong = None, f"{path.name}: it has ended the process (on {case.name})"
    return Outcome(case=case, statistics=statistics, wrong=wrong)
