"""``metronome grade``: points for the two policies of a student's submission (docs/course)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from ..options.common import JsonOption, input_file, json_target, within
from ..output.outputs import refuse_inputs, require_writable, write_json
from ..output.tables import new_table
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.sim.studies.course.cases import Kit
    from metronome.sim.studies.course.grading import Report

__all__ = ["grade"]

#: The solution takes a second for a case of the kit.
_SECONDS = 20


def grade(
    submission: Annotated[
        str | None, typer.Argument(metavar="FILE", help="The submission: one Python file.", show_default=False)
    ] = None,
    task: Annotated[int | None, typer.Option("--task", metavar="N", help="Grade task 1 or 2 only.")] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", metavar="FILE", help="Use other cases, with their reference values (JSON)."),
    ] = None,
    seconds: Annotated[
        int, typer.Option("--seconds", metavar="N", help="The time limit of a submission for each case.")
    ] = _SECONDS,
    make_reference: Annotated[
        str | None,
        typer.Option("--make-reference", metavar="FILE", help="Run the solution and write its values; takes no FILE."),
    ] = None,
    cases: Annotated[
        str | None, typer.Option("--cases", metavar="FILE", help="With --make-reference: use other cases (TOML).")
    ] = None,
    json_file: JsonOption = None,
) -> int:
    """Grade the policies of a submission: their statistics against those of the solution, by the predictor."""
    within("--seconds", seconds, 1, 3600)
    if make_reference is not None:
        if submission is not None or reference is not None or task is not None or json_file is not None:
            raise UsageError("--make-reference takes --cases and nothing else")
        return _make(make_reference, cases)
    if submission is None:
        raise UsageError("name the file of a submission, or --make-reference")
    if cases is not None:
        raise UsageError("--cases is for --make-reference: grade with --reference")
    path, target = input_file("FILE", submission).resolve(), json_target(json_file)
    refuse_inputs(target, {"the submission": submission, "--reference": reference})
    return _grade(path, _kit(reference, task), seconds, json_file, target)


def _kit(reference: str | None, task: int | None) -> Kit:
    """Return the cases with reference values, or only those of ``task`` if it is given."""
    import dataclasses

    from metronome.sim.studies.course.cases import REFERENCE, TASKS, CaseError, Kit

    if task is not None and task not in TASKS:
        raise UsageError(f"--task must be one of {', '.join(map(str, TASKS))}, not {task}")
    try:
        kit = Kit.read(REFERENCE if reference is None else input_file("--reference", reference).resolve())
    except CaseError as error:
        raise UsageError(str(error)) from None
    if missing := [case.name for case in kit.cases if case.name not in kit.reference]:
        raise UsageError(f"--reference {reference}: case {missing[0]} has no values: make them with --make-reference")
    cases = tuple(case for case in kit.cases if task in (None, case.task))
    if not cases:
        raise UsageError("--reference: it has no case" + (f" of task {task}" if task else ""))
    return dataclasses.replace(kit, cases=cases)


def _make(target: str, cases: str | None) -> int:
    from metronome.sim.studies.course.cases import CASES, CaseError, Kit
    from metronome.sim.studies.course.making import make_reference

    path = require_writable(target, "--make-reference", ".json")
    refuse_inputs(None, {"--cases": cases}, [("--make-reference", path)])
    try:
        kit = Kit.read(CASES if cases is None else input_file("--cases", cases).resolve())
        with show_progress() as progress:
            made = make_reference(kit, progress)
    except CaseError as error:
        raise UsageError(str(error)) from None
    write_json(path, made.as_json())
    return Exit.PASSED


def _grade(path: Path, kit: Kit, seconds: int, json_file: str | None, target: Path | None) -> int:
    from metronome.sim.build.processes import WorkersError
    from metronome.sim.studies.course import checking, grading
    from metronome.sim.studies.course.cases import CaseError
    from metronome.sim.studies.course.submission import SubmissionError, inspect

    try:
        # Report an error of the whole file only once.
        inspect(path)
        with show_progress() as progress:
            outcomes = list(checking.check(path, kit, seconds=seconds, tell=progress))
        report = grading.grade(kit, outcomes)
    except (SubmissionError, CaseError, WorkersError) as error:
        raise UsageError(str(error)) from None
    if json_file is not None:
        write_json(target, {"submission": str(path)} | report.as_json())
    if json_file is None or target is not None:
        _print(path, report)
    for text in dict.fromkeys(report.wrong.values()):
        print(f"metronome: {text}", file=sys.stderr)
    if report.wrong:
        return Exit.USAGE
    return Exit.PASSED if report.points == report.of else Exit.CHECK_FAILED


def _print(path: Path, report: Report) -> None:
    from metronome.sim.studies.course.cases import TASKS

    console = Console()
    for task in sorted({mark.case.task for mark in report.marks}):
        asked = TASKS[task]
        places = 0 if asked.statistic == "NUM_STALL_CYCLES" else 3
        title = f"{path.name}, task {task}: {asked.stands_for}, {asked.statistic}"
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
    console.print(f"{float(report.points):.2f} of {float(report.of):.2f} points", highlight=False)
