"""The progress display: there on a terminal, silent anywhere else."""

import io
import re

from rich.markup import escape

from metronome.scripts.output.tables import new_table
from metronome.scripts.process.progress import show_progress
from metronome.scripts.process.terminal import Console
from metronome.sim.build.sources import ROOT


def shown(terminal):
    """What is displayed of two steps, the first reported twice."""
    stream = io.StringIO()
    with show_progress(Console(file=stream, force_terminal=terminal, width=80)) as report:
        for step in ("elaborate", "elaborate", "compile"):
            report(step)
    return stream.getvalue()


def test_nothing_is_shown_where_nobody_watches():
    assert shown(terminal=False) == ""


def test_each_step_is_a_line_on_a_terminal():
    last_picture = shown(terminal=True).split("\x1b[2K")[-1]
    lines = [line for line in last_picture.splitlines() if "✓" in line]
    assert [step for line in lines for step in ("elaborate", "compile") if step in line] == ["elaborate", "compile"]


def test_the_state_of_a_step_replaces_the_one_before():
    stream = io.StringIO()
    with show_progress(Console(file=stream, force_terminal=True, width=80)) as report:
        for step in ("compile", "simulate", "simulate (10 cycles, 5 cycles/s)", "simulate (30 cycles, 6 cycles/s)"):
            report(step)
    lines = stream.getvalue().split("\x1b[2K")[-1].splitlines()
    assert ["compile" in line for line in lines].count(True) == 1
    (line,) = [line for line in lines if "simulate" in line]
    assert "simulate (30 cycles, 6 cycles/s)" in line


def test_an_error_ends_the_display():
    stream = io.StringIO()
    try:
        with show_progress(Console(file=stream, force_terminal=True)) as report:
            report("compile")
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert stream.getvalue().endswith("\x1b[?25h")
    else:
        raise AssertionError("the interrupt was swallowed")


def test_names_stay_as_they_are():
    """Whoever prints a name of the user's escapes what rich's markup is; emoji cannot be escaped."""
    stream, name = io.StringIO(), "a/:bug:/[red]b.c"
    console = Console(file=stream, width=80, force_terminal=True, color_system=None)
    console.print(new_table("name", title=escape(name)), escape(name))
    with show_progress(console) as report:
        report(name)
    assert stream.getvalue().count(name) >= 3


def test_there_is_no_other_console():
    for path in (ROOT / "scripts").rglob("*.py"):
        assert path.name == "terminal.py" or not re.search(r"rich(\.console import .*Console\b|.* console$)",
                                                           path.read_text("utf-8"), re.MULTILINE), path
