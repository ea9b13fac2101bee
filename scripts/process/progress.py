"""Progress of long steps on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import ConsoleOptions
from rich.segment import Segment

from .terminal import Console

__all__ = ["Report", "print_console", "show_progress"]

#: Called with a line: the name of a step that begins, or output of a program.
Report = Callable[[str], None]


@contextmanager
def show_progress(console: Console | None = None) -> Iterator[Report]:
    """Show a line with the running step and its time, below the finished steps. Silent without a terminal.

    Text in parentheses after a step's name is its state: it replaces the previous state.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

    # A step's name may contain the name of a user's program.
    step = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(finished_text="[green]✓"), step, TimeElapsedColumn())
    with Progress(*columns, console=console) as display, _known(console):
        running: list[TaskID] = []

        def report(name: str) -> None:
            if running and display.tasks[-1].description.partition(" (")[0] == name.partition(" (")[0]:
                display.update(running[-1], description=name)
                return
            if running:
                display.update(running[-1], total=1, completed=1)
            running.append(display.add_task(name, total=None))

        yield report
        if running:
            display.update(running[-1], total=1, completed=1)


#: The consoles with an open display, the last one on top.
_shown: list[Console] = []


@contextmanager
def _known(console: Console) -> Iterator[None]:
    _shown.append(console)
    try:
        yield
    finally:
        _shown.remove(console)


@dataclass(frozen=True)
class _RawText:
    """Text that the display neither wraps nor strips of control characters."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        yield Segment(self.text)


def print_console(line: str) -> None:
    """Print a line of the program, including its newline, on standard error: unchanged bytes, above any display."""
    data = line.encode("utf-8", "surrogateescape")
    if not _shown or not hasattr(sys.stderr, "rich_proxied_file"):
        sys.stderr.flush()
        sys.stderr.buffer.write(data)
        sys.stderr.flush()
        return
    stream = sys.stderr.rich_proxied_file
    # Restores bytes that are not characters in the terminal's encoding when the text is written.
    stream.reconfigure(errors="surrogateescape")
    text = data.decode(getattr(stream, "encoding", None) or "utf-8", "surrogateescape")
    _shown[-1].print(_RawText(text), end="", soft_wrap=True)
