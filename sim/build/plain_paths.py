"""Paths that make, a shell and Verilator accept unquoted: links to paths with a space or the like."""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import tempfile
from pathlib import Path

__all__ = ["plain"]

#: Characters without a special meaning in a makefile, a shell and the options of a compiler.
_PLAIN = re.compile(r"[A-Za-z0-9_./+@-]+")


@functools.cache
def plain(path: Path) -> Path:
    """Return the existing file or folder ``path``, or a link to it that lasts as long as this process.

    Raises
    ------
    OSError
        If there is no place for a link.
    """
    path = path.absolute()
    if _PLAIN.fullmatch(str(path)):
        return path
    link = Path(tempfile.mkdtemp(dir=_links())) / (path.name if _PLAIN.fullmatch(path.name) else "it")
    link.symlink_to(path)
    return link


@functools.cache
def _links() -> str:
    """A folder for links, removed when this process ends."""
    places = [place for place in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")
              if _PLAIN.fullmatch(place) and os.access(place, os.W_OK | os.X_OK)]
    if not places:
        raise OSError(0, "no temporary folder has a path without spaces and special characters: set TMPDIR to one")
    folder, owner = tempfile.mkdtemp(prefix="metronome-links-", dir=places[0]), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
