"""The executables of simulations in the build cache: their names, and whether they are complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import compilers
from .cache import found, places
from .sources import ROOT
from .verilating import digest, versions
from .verilog import Design

__all__ = [
    "EXECUTABLE",
    "TB_SOURCES",
    "WAVES_MAIN",
    "about",
    "describe",
    "is_whole",
    "kept",
    "key_of",
    "name_by_profile",
    "usual_name",
]

EXECUTABLE = "metronome_top"
TB_SOURCES = tuple(ROOT / "tb" / name for name in ("mailbox.cpp", "statistics.cpp", "profile.cpp", "top.sv"))
#: The main program if signals are dumped, in place of cocotb's.
WAVES_MAIN = ROOT / "tb" / "waves_main.cpp"


def is_whole(entry: Path) -> bool:
    """Whether the entry exists and looks undamaged: its executable still has its original size.

    A full disk, an interrupted copy of the cache or a power failure can truncate it; it is then rebuilt.
    """
    try:
        return (entry / EXECUTABLE).stat().st_size == about(entry).get("executable_bytes")
    except (FileNotFoundError, NotADirectoryError):
        return False


def about(entry: Path) -> dict[str, Any]:
    """The entry's description of itself; empty if it is damaged."""
    try:
        return dict(json.loads((entry / "build.json").read_text()))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return {}


def describe(folder: Path, **facts: object) -> None:
    """Write the description that :func:`about` reads, for the executable in ``folder``."""
    size = (folder / EXECUTABLE).stat().st_size
    (folder / "build.json").write_text(json.dumps({**facts, "executable_bytes": size}, indent=1) + "\n")


def key_of(design: Design, waves: bool, testbench: Sequence[Path] | None = None) -> str:
    """The key of the design's executable: the testbench's sources, tool versions and flags are part of it.

    ``testbench``: its sources, by default those of an SM.
    """
    sources = [(path.name, path.read_text()) for path in (*(testbench or TB_SOURCES), *([WAVES_MAIN] if waves else []))]
    return digest(design.digest(), sources, waves, versions())


def usual_name(key: str) -> str:
    """The name of the entry for this compiler or, without a compiler, of one that can be used without it."""
    if identity := compilers.identity():
        return f"sim-{digest(key, identity)}"
    there = [path.parent for place in places() for path in sorted(place.glob("sim-*/build.json"))]
    return next((path.name for path in there if about(path).get("key") == key and is_whole(path)), f"sim-{key}")


def name_by_profile(key: str) -> str:
    """The name of the entry for the same design, compiled with its profile."""
    return f"sim-{digest(key, compilers.identity(), compilers.COUNTING)}"


def kept(design: Design, waves: bool, testbench: Sequence[Path] | None = None) -> Path | None:
    """The design's executable in the cache, as far as it can be found without elaborating the design."""
    if design.known() is None:
        return None
    key = key_of(design, waves, testbench)
    names = [usual_name(key)] if waves else [name_by_profile(key), usual_name(key)]
    return next((place / EXECUTABLE for place in map(found, names) if is_whole(place)), None)
