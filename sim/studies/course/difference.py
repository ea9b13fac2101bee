"""The first cycle in which a policy picks another warp than the solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...machine.policies.base import Policy, PolicyInputs, members
from ...machine.policies.plain import POLICIES
from ...predict.predictor import Recordings
from .cases import TASKS, Case, measure
from .remote import RemotePolicy

__all__ = ["Difference", "first_difference"]

#: The inputs that are shown, as in the assignment.
_INPUTS = ("eligible", "active", "waiting", "activated", "lost")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Both picks in this cycle, and their inputs; ``state``: the state of the submission before the cycle."""

    cycle: int
    inputs: dict[str, list[int]]
    state: str
    picked: int | None
    solution: int | None

    def __str__(self) -> str:
        return f"cycle {self.cycle}: it picks {_warp(self.picked)}, the solution picks {_warp(self.solution)}"

    def lines(self) -> list[str]:
        """The state and the inputs, a line each."""
        inputs = (f"{name} {{{_ranges(warps)}}}" for name, warps in self.inputs.items())
        return [f"  state   {self.state}", f"  inputs  {', '.join(inputs)}"]


def _warp(number: int | None) -> str:
    return "no warp" if number is None else f"warp {number}"


def _ranges(warps: Sequence[int]) -> str:
    """Write a sorted list of warps as in ``0-3, 6``."""
    firsts = [w for w in warps if w - 1 not in warps]
    lasts = [w for w in warps if w + 1 not in warps]
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(firsts, lasts, strict=True))


class _FoundError(Exception):
    """Ends the run in the cycle of the difference."""

    def __init__(self, difference: Difference) -> None:
        super().__init__()
        self.difference = difference


class _Compared(Policy[Any]):
    """A submission that is compared with the solution in every cycle; its states are pairs."""

    name = "compared"

    def __init__(self, submission: RemotePolicy, solution: Policy[Any]) -> None:
        self._submission, self._solution = submission, solution
        self.reads = submission.reads
        self._cycle = -1

    def reset(self) -> Any:
        self._cycle = -1
        return self._submission.reset(), self._solution.reset()

    def pick(self, state: Any, inputs: PolicyInputs) -> int | None:
        self._cycle += 1
        picked, solution = self._submission.pick(state[0], inputs), self._solution.pick(state[1], inputs)
        if picked != solution:
            raise _FoundError(Difference(
                cycle=self._cycle, inputs={name: members(getattr(inputs, name)) for name in _INPUTS},
                state=self._submission.shown(state[0]), picked=picked, solution=solution,
            ))
        return picked

    def update(self, state: Any, inputs: PolicyInputs, picked: int | None) -> Any:
        return (self._submission.update(state[0], inputs, picked), self._solution.update(state[1], inputs, picked))


def first_difference(
    case: Case, folder: Path, submission: RemotePolicy, *, most_cycles: int, recordings: Recordings
) -> Difference | None:
    """Run a case until the submission and the solution pick different warps; None if they never do.

    Raises
    ------
    SubmissionError
        For an error of the submission, and if it takes too long.
    """
    solution = POLICIES[TASKS[case.task].policy].of(case.config())
    compared = _Compared(submission, solution)
    try:
        measure(case, folder, compared, most_cycles=most_cycles, recordings=recordings)
    except _FoundError as found:
        return found.difference
    return None
