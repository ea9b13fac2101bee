"""The README is short, and its first screen shows what this is and how to begin."""

import re

import pytest

from metronome.scripts.cli import main
from tests.docs.pages import ROOT
from tests.support.builds import on

TEXT = (ROOT / "README.md").read_text("utf-8")


def test_it_is_short():
    assert len(TEXT.split()) <= 700


def test_the_first_screen_has_the_sentence_the_picture_and_the_command():
    first = "\n".join(TEXT.splitlines()[:20])
    sentence, picture, command = (first.find(text) for text in ("Metronome is a streaming", "cycles.png", "make run"))
    assert 0 < sentence < picture < command


@on("BASE")
@pytest.mark.more
def test_make_run_prints_what_it_shows(capsys):
    shown = re.search(r"^\.venv/bin/(metronome run .*)\n((?:.+\n|\n)+?)  \.\.\.\n```", TEXT, re.MULTILINE)
    assert main(shown[1].split()[1:]) == 0
    # Words: how the lines break depends on the terminal.
    assert capsys.readouterr().out.split()[: len(shown[2].split())] == shown[2].split()
