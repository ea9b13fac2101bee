"""Listing and pruning of the build cache: entries long unused, entries above a total size, and leftovers.

An entry that another process uses or is creating is not removed: it is locked (:mod:`sim.build.cache`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .cache import MAKING, cache_folder, locked, try_lock
from .processes import undisturbed

__all__ = ["KINDS", "LEFTOVERS", "Entry", "entries", "prune"]

#: Leftovers of killed processes.
LEFTOVERS = "leftovers"
#: Kind -> the names of its entries, in the order of a listing. Anything else in the folder is not ours.
KINDS = {
    "simulations": r"(sim|board)-[0-9a-f]{16}",
    "runtimes": r"runtime-[0-9a-f]{16}",
    "designs": r"design-[0-9a-f]{16}",
    "model": r"model-[0-9a-f]{16}",
    "kernels": r"kernels/[0-9a-f]{32}",
    "synthesis": r"(netlist|route|parts|gates|mapped|bitstream|gatelevel)-[0-9a-f]{16}",
    "proofs": r"proof-[0-9a-f]{16}\.json",
    "units": r"(unit|axi)-[0-9a-f]{16}",
    # Temporary folders and files, of this and earlier versions; locks.
    LEFTOVERS: r"(kernels/)?(tmp-\w+(-\w+)*|building-\w+|proof-[0-9a-f]{16}\.\d+|[\w-]+\.lock)",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry. ``used``: when it was used last, in seconds since the epoch."""

    path: Path
    kind: str
    bytes: int
    used: float


def _bytes(path: Path) -> int:
    """The disk space of the file or folder, as far as it still exists."""
    total = 0
    for place in [path, *(path.rglob("*") if path.is_dir() else ())]:
        with contextlib.suppress(FileNotFoundError):
            total += place.lstat().st_blocks * 512
    return total


def _is_free(path: Path) -> bool:
    with try_lock(path) as free:
        return free


def entries() -> list[Entry]:
    """All of our entries in the cache, the most recently used last; without those being created."""
    cache = cache_folder()
    found = []
    for path in (*cache.glob("*"), *cache.glob("kernels/*")):
        name = path.relative_to(cache).as_posix()
        kind = next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, name)), None)
        with contextlib.suppress(FileNotFoundError):  # another process has just removed it
            if kind is not None and (kind != LEFTOVERS or _is_free(path)):
                found.append(Entry(path=path, kind=kind, bytes=_bytes(path), used=path.stat().st_mtime))
    return sorted(found, key=lambda entry: entry.used)


def _chosen(found: list[Entry], seconds: float | None, most: int | None) -> Iterator[Entry]:
    """Select leftovers, entries unused for ``seconds``, and of the rest the oldest above ``most`` bytes."""
    now, total = time.time(), sum(entry.bytes for entry in found)
    # Leftovers first: their size is no reason to remove a good entry.
    for entry in sorted(found, key=lambda entry: entry.kind != LEFTOVERS):
        old = seconds is not None and now - entry.used >= seconds
        if entry.kind == LEFTOVERS or old or (most is not None and total > most):
            total -= entry.bytes
            yield entry


def prune(*, seconds: float | None = None, most: int | None = None) -> tuple[list[Entry], list[Entry]]:
    """Remove leftovers; with ``seconds`` entries unused that long, with ``most`` the oldest beyond that many bytes.

    Returns
    -------
    The removed entries, and those that should have been removed but are in use.
    """
    cache = cache_folder()
    removed: list[Entry] = []
    kept: list[Entry] = []
    if not cache.is_dir():
        return removed, kept
    # While this lock is held, every temporary folder is locked.
    with locked(cache / MAKING), try_lock(cache / "kernels") as kernels_free:
        for entry in _chosen(entries(), seconds, most):
            free = kernels_free or entry.kind != "kernels"
            (removed if free and _remove(entry.path) else kept).append(entry)
    return removed, kept


def _remove(path: Path) -> bool:
    """Remove an entry unless it is in use, in one step, so that an interrupt leaves no half; True if it is gone."""
    with try_lock(path) as free:
        if not free:
            return not path.exists()
        if path.is_dir():
            with undisturbed():
                grave = Path(tempfile.mkdtemp(prefix="tmp-", dir=cache_folder()))
                path.rename(grave / path.name)
            shutil.rmtree(grave)
        else:
            os.unlink(path)
    return True
