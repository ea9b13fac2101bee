"""Console bytes and the progress display share a terminal."""

import io
import sys

from metronome.scripts.process.progress import print_console, show_progress
from metronome.scripts.process.terminal import Console


def test_on_a_terminal_they_are_written_above_the_display(monkeypatch):
    shown = io.BytesIO()
    stream = io.TextIOWrapper(shown, "utf-8", errors="backslashreplace", write_through=True)
    monkeypatch.setattr(sys, "stderr", stream)
    written = bytes(each for each in range(256) if each != 10) + "é€".encode() + b"x" * 200 + b"\n"
    with show_progress(Console(stderr=True, force_terminal=True, width=80)) as progress:
        progress("simulate")
        print_console(written.decode("utf-8", "surrogateescape"))
    assert shown.getvalue().count(written) == 1
