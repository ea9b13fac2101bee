"""Ends the program at SIGINT while there is nothing to tidy up."""

from __future__ import annotations

import os

from .errors import Exit

__all__ = ["end_at_once"]


def end_at_once(number: int, frame: object) -> None:
    """Handles SIGINT with a line, and by no exception.

    That would be raised within somebody else's import, which may take it for an error of its own.
    """
    os.write(2, b"\nmetronome: interrupted\n")
    os._exit(Exit.INTERRUPTED)
