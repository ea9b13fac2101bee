"""What a long step is doing, on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["Report", "show_progress"]

#: Called with a line: the name of a step as it begins, or what a program prints.
Report = Callable[[str], None]


@contextmanager
def show_progress(console: Console | None = None) -> Iterator[Report]:
    """A line with the running step and its time; finished steps stay above it. Silent where nobody watches.

    What stands in parentheses behind a step's name is its state: it replaces what was there before.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    columns = (SpinnerColumn(finished_text="[green]✓"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as display:
        running: list[TaskID] = []

        def report(step: str) -> None:
            if running and display.tasks[-1].description.partition(" (")[0] == step.partition(" (")[0]:
                display.update(running[-1], description=step)
                return
            if running:
                display.update(running[-1], total=1, completed=1)
            running.append(display.add_task(step, total=None))

        yield report
        if running:
            display.update(running[-1], total=1, completed=1)
