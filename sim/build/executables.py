"""The executables of simulations in the build cache: their names, and whether they are whole."""

from __future__ import annotations

import json
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
#: The main program where signals are dumped, in place of cocotb's.
WAVES_MAIN = ROOT / "tb" / "waves_main.cpp"


def is_whole(entry: Path) -> bool:
    """Whether the entry is there and undamaged as far as a look can tell: its executable has the size it was made with.

    A full disk, an interrupted copy of the cache or a lost power supply can leave less; it is then built anew.
    """
    try:
        return (entry / EXECUTABLE).stat().st_size == about(entry).get("executable_bytes")
    except (FileNotFoundError, NotADirectoryError):
        return False


def about(entry: Path) -> dict[str, Any]:
    """What the entry says of itself; nothing if it is damaged."""
    try:
        return dict(json.loads((entry / "build.json").read_text()))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError):
        return {}


def describe(folder: Path, **facts: object) -> None:
    """Write what :func:`about` reads, of the executable in ``folder``."""
    size = (folder / EXECUTABLE).stat().st_size
    (folder / "build.json").write_text(json.dumps({**facts, "executable_bytes": size}, indent=1) + "\n")


def key_of(design: Design, waves: bool) -> str:
    """The name of what is built from the design: the testbench's sources, tool versions and flags go in too."""
    sources = [(path.name, path.read_text()) for path in (*TB_SOURCES, *([WAVES_MAIN] if waves else []))]
    return digest(design.digest(), sources, waves, versions())


def usual_name(key: str) -> str:
    """The name of the entry for this compiler; where there is none, that of one which can be had without it."""
    if identity := compilers.identity():
        return f"sim-{digest(key, identity)}"
    there = [path.parent for place in places() for path in sorted(place.glob("sim-*/build.json"))]
    return next((path.name for path in there if about(path).get("key") == key and is_whole(path)), f"sim-{key}")


def name_by_profile(key: str) -> str:
    """The name of the entry of the same design, compiled by a profile of it."""
    return f"sim-{digest(key, compilers.identity(), compilers.COUNTING)}"


def kept(design: Design, waves: bool) -> Path | None:
    """The executable that the cache has of the design, as far as that can be told without elaborating it."""
    if design.known() is None:
        return None
    key = key_of(design, waves)
    names = [usual_name(key)] if waves else [name_by_profile(key), usual_name(key)]
    return next((place / EXECUTABLE for place in map(found, names) if is_whole(place)), None)
