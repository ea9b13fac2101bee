"""Handler that ends the program at SIGINT while there is nothing to clean up."""

from __future__ import annotations

import os

from .errors import Exit

__all__ = ["end_at_once"]


def end_at_once(number: int, frame: object) -> None:
    """Handle SIGINT by printing a line and exiting, without an exception.

    An exception could be raised inside a library's import, which may mistake it for an error of its own.
    """
    os.write(2, b"\nmetronome: interrupted\n")
    os._exit(Exit.INTERRUPTED)
