"""The progress display: there on a terminal, silent anywhere else."""

import io

from rich.console import Console

from metronome.scripts.process.progress import show_progress


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
