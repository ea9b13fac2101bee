"""The tables of ``metronome grade``: all cases of one submission, or a row for each of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.markup import escape

from ..output.tables import new_table
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.sim.studies.course.grading import Report

__all__ = ["print_report", "print_reports"]


def print_report(reports: Mapping[str, Report]) -> None:
    """Print the only report: a table for each task, and the first cycle in which its picks are wrong."""
    from metronome.sim.studies.course.cases import TASKS

    ((name, report),) = reports.items()
    console, differences = Console(), report.first_differences()
    for task in report.tasks:
        asked = TASKS[task]
        places = 0 if asked.statistic == "NUM_STALL_CYCLES" else 3
        title = f"{name}, task {task}: {asked.stands_for}, {asked.statistic}"
        # On a line of its own: a table's title is not wider than the table.
        console.print(escape(title), highlight=False, style="italic")
        table = new_table("", ">reference", ">yours", "", ">points", ">of")
        for mark in report.marks:
            if mark.case.task == task:
                table.add_row(
                    mark.case.name, f"{float(mark.reference):.{places}f}",
                    "" if mark.measured is None else f"{float(mark.measured):.{places}f}", mark.grade,
                    f"{float(mark.points):.2f}", f"{float(mark.of):.2f}",
                )
        console.print(table)
        console.print()
        if task in differences:
            case, difference = differences[task].case, differences[task].difference
            assert difference is not None
            lines = [f"{case.name}, {difference}", *difference.lines(), ""]
            console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
    console.print(f"{float(report.points):.2f} of {float(report.of):.2f} points", highlight=False)


def print_reports(reports: Mapping[str, Report]) -> None:
    """Print a row for each submission: its points, and its first error or wrong pick."""
    console, first = Console(), next(iter(reports.values()))
    headings = [f">task {task}, of {_points(sum(m.of for m in first.marks if m.case.task == task))}"
                for task in first.tasks]
    table = new_table("submission", *headings, f">points, of {_points(first.of)}", "first error")
    for name, report in reports.items():
        points = [_points(report.points_of(task)) for task in report.tasks]
        table.add_row(escape(name), *points, _points(report.points), escape(_first_error(report)))
    console.print(table)
    console.print()
    full = sum(report.points == report.of for report in reports.values())
    console.print(f"{len(reports)} submissions, {full} with all points", highlight=False)


def _points(points: object) -> str:
    return f"{float(points):.2f}"  # type: ignore[arg-type]  # a Fraction


def _first_error(report: Report) -> str:
    """The error of the first task that has one, else the first wrong pick."""
    if report.wrong:
        return report.wrong[min(report.wrong)]
    for mark in report.first_differences().values():
        return f"{mark.case.name}, {mark.difference}"
    return ""
