"""Paths as users write them."""

from __future__ import annotations

import contextlib
from pathlib import Path

__all__ = ["user_path"]


def user_path(name: str | Path) -> Path:
    """Return the path ``name``, with ``~`` replaced as a shell would: a name such as ``~mine.py`` stays as it is."""
    path = Path(name)
    with contextlib.suppress(RuntimeError):  # there is no such user
        return path.expanduser()
    return path
