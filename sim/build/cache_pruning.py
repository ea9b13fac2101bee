"""What is in the build cache, and its removal: what has not been used for long, what is too much, what is left over.

Nothing is removed that another process uses, or makes at the moment: it holds a lock (:mod:`sim.build.cache`).
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

#: What killed processes have left behind.
LEFTOVERS = "leftovers"
#: Kind -> what its entries are called, in the order of a listing. Anything else in the folder is not ours.
KINDS = {
    "simulations": r"(sim|board)-[0-9a-f]{16}",
    "runtimes": r"runtime-[0-9a-f]{16}",
    "designs": r"design-[0-9a-f]{16}",
    "model": r"model-[0-9a-f]{16}",
    "kernels": r"kernels/[0-9a-f]{32}",
    "synthesis": r"(netlist|route|parts|gates|mapped|bitstream|gatelevel)-[0-9a-f]{16}",
    "proofs": r"proof-[0-9a-f]{16}\.json",
    "units": r"(unit|axi)-[0-9a-f]{16}",
    # Temporary folders and files, today's and those of earlier versions; locks.
    LEFTOVERS: r"(kernels/)?(tmp-\w+(-\w+)*|building-\w+|proof-[0-9a-f]{16}\.\d+|[\w-]+\.lock)",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """``used``: seconds since the epoch, when it was used last."""

    path: Path
    kind: str
    bytes: int
    used: float


def _bytes(path: Path) -> int:
    """What the file or folder takes on the disk, as far as it is still there."""
    total = 0
    for place in [path, *(path.rglob("*") if path.is_dir() else ())]:
        with contextlib.suppress(FileNotFoundError):
            total += place.lstat().st_blocks * 512
    return total


def _is_free(path: Path) -> bool:
    with try_lock(path) as free:
        return free


def entries() -> list[Entry]:
    """Everything of ours in the cache, what was used last at the end; without what is being made now."""
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
    """What is to go: leftovers, what was not used for ``seconds``, and of the rest the oldest above ``most`` bytes."""
    now, total = time.time(), sum(entry.bytes for entry in found)
    # Leftovers first: what they take is no reason to remove a good entry.
    for entry in sorted(found, key=lambda entry: entry.kind != LEFTOVERS):
        old = seconds is not None and now - entry.used >= seconds
        if entry.kind == LEFTOVERS or old or (most is not None and total > most):
            total -= entry.bytes
            yield entry


def prune(*, seconds: float | None = None, most: int | None = None) -> tuple[list[Entry], list[Entry]]:
    """Remove leftovers; with ``seconds`` what was not used for so long, with ``most`` the oldest above so many bytes.

    Returns
    -------
    What was removed, and what should have been, but is in use.
    """
    cache = cache_folder()
    removed: list[Entry] = []
    kept: list[Entry] = []
    if not cache.is_dir():
        return removed, kept
    # Under this lock nobody has a temporary folder that is not locked yet.
    with locked(cache / MAKING), try_lock(cache / "kernels") as kernels_free:
        for entry in _chosen(entries(), seconds, most):
            free = kernels_free or entry.kind != "kernels"
            (removed if free and _remove(entry.path) else kept).append(entry)
    return removed, kept


def _remove(path: Path) -> bool:
    """Whether nobody uses it and it is removed: in one step, so that an interrupt leaves no half of it."""
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
