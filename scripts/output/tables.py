"""The style of all tables: columns separated by space, a line below the headings, blank lines between sections."""

from __future__ import annotations

from rich import box
from rich.table import Table

__all__ = ["new_table"]

#: Columns whose heading starts with this are numbers, right-aligned.
_RIGHT = ">"


def new_table(*columns: str, title: str | None = None, tight: bool = False) -> Table:
    """Return an empty table. A column ``>cycles`` is right-aligned; without any heading there is no line.

    ``tight``: one space between columns instead of two, and no wrapping, for many columns.
    """
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE, show_edge=False, pad_edge=False,
        padding=(0, 0) if tight else (0, 1, 0, 0), show_header=any(column.strip(_RIGHT) for column in columns),
    )
    for column in columns:
        right = column.startswith(_RIGHT)
        table.add_column(column.removeprefix(_RIGHT), justify="right" if right else "left", no_wrap=tight)
    return table
