"""``metronome grade``: points for the two policies of each student's submission (docs/course)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metronome.sim.machine.user_paths import user_path

from ..options.common import JsonOption, input_file, json_target, within
from ..output.outputs import refuse_inputs, require_writable, write_json
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress
from .grade_output import print_report, print_reports

if TYPE_CHECKING:
    from metronome.sim.studies.course.cases import Kit
    from metronome.sim.studies.course.grading import Report

__all__ = ["grade"]

#: The solution takes a second for a case of the kit.
_SECONDS = 20


def grade(
    submissions: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE|FOLDER", help="Python files, or folders with them.", show_default=False),
    ] = None,
    task: Annotated[int | None, typer.Option("--task", metavar="N", help="Grade task 1 or 2 only.")] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", metavar="FILE", help="Use other cases, with their reference values (JSON)."),
    ] = None,
    seconds: Annotated[
        int,
        typer.Option("--seconds", metavar="N", help="The processor time that a submission may take for each case."),
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
    """Grade the policies of submissions: their statistics against those of the solution, by the predictor."""
    within("--seconds", seconds, 1, 3600)
    if make_reference is not None:
        if submissions or reference is not None or task is not None or json_file is not None:
            raise UsageError("--make-reference takes --cases and nothing else")
        return _make(make_reference, cases)
    if not submissions:
        raise UsageError("name the file of a submission, or --make-reference")
    if cases is not None:
        raise UsageError("--cases is for --make-reference: grade with --reference")
    files = _files(submissions)
    target = json_target(json_file)
    refuse_inputs(target, {"--reference": reference} | {f"the submission {name}": name for name in files})
    return _grade(files, _kit(reference, task), seconds, json_file, target)


def _files(names: Sequence[str]) -> dict[str, Path]:
    """The submissions in order, by the names with which they are shown. Files of a folder are sorted."""
    found: dict[str, Path] = {}
    for name in names:
        folder = user_path(name)
        if name and folder.is_dir():
            # Below it, too: courses collect submissions in a folder for each student.
            inside = sorted(path for path in folder.rglob("*.py") if _counts(path, folder))
            if not inside:
                raise UsageError(f"{name}: the folder has no Python file")
            found |= {str(path): path for path in inside}
        else:
            found[name] = input_file("FILE", name)
    return {name: path.absolute() for name, path in found.items()}


def _counts(path: Path, folder: Path) -> bool:
    """Whether it is a submission: not hidden, no folder and no pipe. A link to nothing is one, which has an error."""
    hidden = any(part.startswith((".", "__")) for part in path.relative_to(folder).parts)
    return not hidden and (path.is_file() or not path.exists())


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


def _grade(files: dict[str, Path], kit: Kit, seconds: int, json_file: str | None, target: Path | None) -> int:
    from metronome.sim.build.processes import WorkersError
    from metronome.sim.studies.course import checking, grading
    from metronome.sim.studies.course.cases import CaseError

    reports: dict[str, Report] = {}
    try:
        with show_progress() as progress:
            outcomes = checking.check(list(files.values()), kit, seconds=seconds, tell=progress)
            reports = {name: grading.grade(kit, each) for name, (_, each) in zip(files, outcomes, strict=True)}
    except (CaseError, WorkersError) as error:
        raise UsageError(str(error)) from None
    if json_file is not None:
        passed = all(report.points == report.of for report in reports.values())
        write_json(target, {"passed": passed, "submissions": [
            {"submission": str(files[name])} | report.as_json() for name, report in reports.items()
        ]})
    if json_file is None or target is not None:
        (print_report if len(reports) == 1 else print_reports)(reports)
    return _status(reports)


def _status(reports: dict[str, Report]) -> int:
    """The exit status, after the errors of one submission, or the number of those with an error."""
    faulty = {name: report.wrong for name, report in reports.items() if report.wrong}
    lines = [f"{len(faulty)} of {len(reports)} submissions have an error: {', '.join(faulty)}"]
    if len(reports) == 1:
        lines = list(dict.fromkeys(line for wrong in faulty.values() for line in wrong.values()))
    if faulty:
        for line in lines:
            print(f"metronome: {line}", file=sys.stderr)
        return Exit.USAGE
    return Exit.PASSED if all(report.points == report.of for report in reports.values()) else Exit.CHECK_FAILED
