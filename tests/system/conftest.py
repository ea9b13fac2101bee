"""What the tests of whole programs have in common."""

from types import SimpleNamespace

import pytest

from metronome.scripts.cli import main


@pytest.fixture
def metronome(request, capsys, tmp_path, monkeypatch):
    """Call the command line in an empty folder, on a terminal as wide as the module's ``COLUMNS``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(request.module.COLUMNS))

    def call(*arguments):
        status = main(list(arguments))
        captured = capsys.readouterr()
        return SimpleNamespace(status=status, out=captured.out, err=captured.err)

    return call
