"""``metronome cache``: the contents of the build cache, and its pruning."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..options.common import JsonOption, json_target
from ..output.outputs import write_json
from ..output.tables import new_table
from ..process.errors import Exit, UsageError
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.sim.build.cache_pruning import Entry

__all__ = ["cache"]

_DAY = 86400
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def cache(
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Remove the remains of killed builds, and the entries named by the options below.",
        ),
    ]
    = False,
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than", metavar="DAYS", help="With --prune: remove entries that were not used for this time.",
        ),
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            "--max-size", metavar="SIZE",
            help="With --prune: remove the least recently used entries above this size, such as 2G.",
        ),
    ] = None,
    json_file: JsonOption = None,
) -> int:
    """Show the build cache by kind, with sizes and ages, or prune it. Entries in use are kept."""
    from metronome.sim.build.cache import cache_folder
    from metronome.sim.build.cache_pruning import entries
    from metronome.sim.build.cache_pruning import prune as prune_cache

    if not prune and (older_than is not None or max_size is not None):
        raise UsageError(f"{'--older-than' if older_than is not None else '--max-size'} is for --prune")
    if older_than is not None and not (math.isfinite(older_than) and older_than >= 0):
        raise UsageError(f"--older-than must be a number of days, at least 0, not {older_than:g}")
    most = None if max_size is None else _size(max_size)
    target = json_target(json_file)
    _require_folder(cache_folder())
    removed: list[Entry] = []
    in_use: list[Entry] = []
    if prune:
        removed, in_use = prune_cache(seconds=None if older_than is None else older_than * _DAY, most=most)
    rows = _rows(entries())
    if json_file is not None:
        write_json(target, {
            "folder": str(cache_folder()), "kinds": rows, "removed": len(removed),
            "removed_bytes": sum(entry.bytes for entry in removed), "in_use": len(in_use),
        })
        return Exit.PASSED
    _print(str(cache_folder()), rows)
    if prune:
        freed = _readable(sum(entry.bytes for entry in removed))
        what = "entry" if len(removed) == 1 else "entries"
        print(f"removed {len(removed)} {what}, {freed}" + (f"; in use: {len(in_use)}" if in_use else ""))
    return Exit.PASSED


def _require_folder(folder: Path) -> None:
    """Accept a cache that does not exist yet as empty; raise UsageError if it cannot be created."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        raise UsageError(
            f"cannot use the build cache {folder}: {there} is not a folder: set METRONOME_CACHE to a writable folder"
        )


def _size(text: str) -> int:
    """Parse a size such as ``2G``, ``1.5M`` or ``4096`` into bytes."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([KMGT]?)", text)
    if match is None:
        raise UsageError(f"--max-size: {text!r} is not a size: write a number followed by K, M, G or T, such as 2G")
    return round(float(match[1]) * _UNITS[match[2]])


def _readable(size: int) -> str:
    unit = max((unit for unit, factor in _UNITS.items() if size >= factor), key=_UNITS.__getitem__, default="")
    return f"{size / _UNITS[unit]:.1f} {unit}iB" if unit else f"{size} B"


def _rows(found: list[Entry]) -> list[dict[str, Any]]:
    """Return for each kind: count, bytes, and days since the last use of the most recently used and of the oldest."""
    from metronome.sim.build.cache_pruning import KINDS

    now = time.time()
    rows = []
    for kind in KINDS:
        its = [entry for entry in found if entry.kind == kind]
        ages = [max(0.0, now - entry.used) / _DAY for entry in its]
        rows.append({
            "kind": kind, "entries": len(its), "bytes": sum(entry.bytes for entry in its),
            "newest_days": min(ages, default=None), "oldest_days": max(ages, default=None),
        })
    return rows


def _print(folder: str, rows: list[dict[str, Any]]) -> None:
    console = Console()
    console.print(folder, highlight=False, markup=False, soft_wrap=True)
    table = new_table("kind", ">entries", ">size", ">last used", ">oldest")
    for row in rows:
        table.add_row(row["kind"], str(row["entries"]), _readable(row["bytes"]), _age(row["newest_days"]),
                      _age(row["oldest_days"]))
    table.add_row("all", str(sum(row["entries"] for row in rows)), _readable(sum(row["bytes"] for row in rows)), "", "")
    console.print(table)


def _age(days: float | None) -> str:
    if days is None:
        return ""
    minutes = days * 24 * 60
    if minutes < 100:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if days < 2 else f"{days:.0f} days"
