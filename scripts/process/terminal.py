"""Printing of tables and lines: rich's console, but names stay as they are."""

from __future__ import annotations

from typing import Any

from rich import console

__all__ = ["Console"]


class Console(console.Console):
    """Rich's console without emoji: a path that contains ``:bug:`` is printed unchanged."""

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)
