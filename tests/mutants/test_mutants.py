"""The mutants (tests.mutants): the table fits the design, and each is found."""

import subprocess
import sys
from collections import Counter

import pytest

from metronome.sim.build.sources import ROOT
from metronome.tb.formal.patched import occurrences, patched
from tests.mutants.__main__ import main
from tests.mutants.table import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_table_fits_the_design(mutant: Mutant) -> None:
    """The text to replace is there exactly once, what replaces it is Python, and the tests' files exist."""
    assert occurrences(mutant.method, mutant.old) == 1
    with patched(mutant.name, mutant.method, mutant.old, mutant.new):
        pass
    assert mutant.found_by
    for test in mutant.found_by:
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text(), test


def test_names_differ() -> None:
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for argument in ("x", "1000", "-1"):
        assert main([argument]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(MUTANTS)), ids=[mutant.name for mutant in MUTANTS])
def test_is_found(number: int) -> None:
    """A process each: what was elaborated without the mutant must not be used."""
    command = [sys.executable, "-m", "tests.mutants", str(number)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-4000:]
