"""Versions of installed packages, from the names of their folders."""

from __future__ import annotations

import functools
import os
import re
import sys

__all__ = ["version"]


@functools.cache
def _folders() -> dict[str, list[str]]:
    """Package (its name in folder names) -> the installed versions."""
    found: dict[str, list[str]] = {}
    for place in filter(os.path.isdir, sys.path):
        for name in os.listdir(place):
            if match := re.fullmatch(r"(\w[\w.]*)-([^-]+)\.dist-info", name):
                found.setdefault(match[1].lower(), []).append(match[2])
    return found


def version(package: str) -> str:
    """As ``importlib.metadata.version``, whose imports take longer than a look-up in the cache.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        If it is not installed.
    """
    versions = _folders().get(re.sub(r"[-.]+", "_", package).lower(), [])
    if len(versions) == 1:
        return versions[0]
    import importlib.metadata

    return importlib.metadata.version(package)
