"""A submission is run again for its first difference: an error in that run only is an error of the submission."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from metronome.sim.studies.course import checking
from metronome.sim.studies.course.cases import REFERENCE, Kit
from metronome.sim.studies.course.submission import SubmissionError


@pytest.mark.parametrize(("error", "wrong"), [
    (None, None),
    (SubmissionError("mine.py: it has ended the process"), "mine.py: a second run of {} was another one: it has ended"),
])
def test_an_error_in_the_second_run_alone(monkeypatch, error, wrong):
    kit = Kit.read(REFERENCE)
    case = kit.cases[0]

    def second(*arguments, **named):
        if error is not None:
            raise error

    worker = SimpleNamespace(
        sandbox=SimpleNamespace(execute=lambda *arguments: contextlib.nullcontext()), recordings=lambda case: None,
    )
    monkeypatch.setattr(checking, "_worker", worker, raising=False)
    monkeypatch.setattr(checking, "measure", lambda *arguments, **named: None)
    monkeypatch.setattr(checking, "first_difference", second)
    outcome = checking._outcome(Path("mine.py"), kit, case, 1)
    assert outcome.wrong is None if wrong is None else outcome.wrong.startswith(wrong.format(case.name))
