"""The progress display: there on a terminal, silent anywhere else."""

import io

from rich.console import Console

from scripts.progress import show_progress


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
    final = shown(terminal=True).split("\x1b[2K")[-2:]
    assert "".join(final).count("elaborate") == 1
    assert "".join(final).count("compile") == 1
    assert "✓" in final[0]


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
