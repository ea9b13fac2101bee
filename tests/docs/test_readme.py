"""The README is short, and its first screen shows what this is and how to begin."""

from tests.docs.pages import ROOT

TEXT = (ROOT / "README.md").read_text("utf-8")


def test_it_is_short():
    assert len(TEXT.split()) <= 700


def test_the_first_screen_has_the_sentence_the_picture_and_the_command():
    first = "\n".join(TEXT.splitlines()[:20])
    sentence, picture, command = (first.find(text) for text in ("Metronome is a streaming", "cycles.png", "make run"))
    assert 0 < sentence < picture < command
