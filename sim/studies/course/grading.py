"""Points for the statistics of a submission."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .cases import TASKS, Case, CaseError, Kit, Statistics
from .checking import Outcome
from .difference import Difference

__all__ = ["Mark", "Report", "grade", "mark"]


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A case's ``grade``: exact, close, runs (the number differs), or none (it did not run to its end).

    ``difference``: unless it is exact, the first cycle in which the submission and the solution pick different warps.
    """

    case: Case
    grade: str
    points: Fraction
    of: Fraction
    reference: Fraction
    measured: Fraction | None
    difference: Difference | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON for --json."""
        return {
            "case": self.case.name, "grade": self.grade, "points": float(self.points), "of": float(self.of),
            "reference": float(self.reference), "measured": None if self.measured is None else float(self.measured),
            "first_difference": None if self.difference is None else dataclasses.asdict(self.difference),
        }


@dataclass(frozen=True, kw_only=True)
class Report:
    """All marks, and for each task any error of the submission."""

    marks: tuple[Mark, ...]
    wrong: dict[int, str]

    @property
    def points(self) -> Fraction:
        """The points of all tasks."""
        return sum((mark.points for mark in self.marks), Fraction(0))

    def points_of(self, task: int) -> Fraction:
        """The points of one task."""
        return sum((mark.points for mark in self.marks if mark.case.task == task), Fraction(0))

    @property
    def tasks(self) -> list[int]:
        """The numbers of the tasks that were graded."""
        return sorted({mark.case.task for mark in self.marks})

    def first_differences(self) -> dict[int, Mark]:
        """For each task with a difference and without an error, its first case with one."""
        marks = [mark for mark in self.marks if mark.difference is not None and mark.case.task not in self.wrong]
        return {mark.case.task: mark for mark in reversed(marks)}

    @property
    def of(self) -> Fraction:
        """The maximum number of points."""
        return sum((mark.of for mark in self.marks), Fraction(0))

    def as_json(self) -> dict[str, Any]:
        """The JSON for --json."""
        return {
            "passed": self.points == self.of, "points": float(self.points), "of": float(self.of),
            "tasks": [
                {
                    "task": task, "class": TASKS[task].stands_for, "statistic": TASKS[task].statistic,
                    "points": float(self.points_of(task)), "wrong": self.wrong.get(task),
                    "cases": [mark.as_json() for mark in self.marks if mark.case.task == task],
                }
                for task in self.tasks
            ],
        }


def mark(kit: Kit, case: Case, statistics: Statistics | None) -> Mark:
    """Grade a case; without ``statistics`` it has no points.

    Raises
    ------
    CaseError
        If the program has changed since the reference was made.
    """
    reference = kit.reference[case.name]
    statistic = TASKS[case.task].statistic
    of = kit.points[case.task] / sum(other.task == case.task for other in kit.cases)
    wanted = reference.value(statistic)
    if statistics is None:
        return Mark(case=case, grade="none", points=Fraction(0), of=of, reference=wanted, measured=None)
    if statistics.instructions != reference.instructions:
        raise CaseError(
            f"case {case.name}: {statistics.instructions} instructions instead of {reference.instructions}: the kernel "
            "or the compiler has changed: make the reference again (--make-reference)"
        )
    value = statistics.value(statistic)
    grade = "exact" if value == wanted else "close" if abs(value - wanted) <= kit.tolerance * wanted else "runs"
    return Mark(case=case, grade=grade, points=of * kit.shares[grade], of=of, reference=wanted, measured=value)


def grade(kit: Kit, outcomes: Sequence[Outcome]) -> Report:
    """Make the report of a submission: a task with an error has no points."""
    wrong = {outcome.case.task: outcome.wrong for outcome in outcomes if outcome.wrong is not None}
    found = {outcome.case.name: outcome for outcome in outcomes if outcome.case.task not in wrong}
    marks = []
    for case in kit.cases:
        outcome = found.get(case.name)
        made = mark(kit, case, outcome.statistics if outcome else None)
        marks.append(dataclasses.replace(made, difference=outcome.difference if outcome else None))
    return Report(marks=tuple(marks), wrong=wrong)
