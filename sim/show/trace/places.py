"""The place of an instruction in a program, as shown to a user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...build.cache import cache_folder
from ...build.sources import ROOT
from ...machine.events import NONE
from ...program.elf import ElfImage
from ...program.source_lines import Frame, own_frame

__all__ = ["Place", "SourceText", "place_of"]

#: A longer source line is cut.
_LONGEST = 200


class Place(NamedTuple):
    """``line``: ``file:line``, or a substitute. ``function``: the function that contains it; empty if unknown.

    ``frames``: the function and those into which it is inlined, outermost first.
    """

    line: str
    function: str
    frames: Sequence[Frame]


def place_of(image: ElfImage, pc: int) -> Place:
    """Return the place of an instruction; ``pc`` may be NONE."""
    if pc == NONE:
        return Place("(no instruction)", "", ())
    frames = image.frames_at(pc)
    own = own_frame(frames)
    if own is None:
        return Place(f"{pc:#010x}", "", ())
    file, _, line = own.line.rpartition(":")
    return Place(f"{file} (no line)" if line == "0" else own.line, own.function, frames)


class SourceText:
    """The text of source lines, read from the files of a program's source as far as they are there.

    A program in the cache belongs to its source. The text of another program's file is left out if that is newer.
    """

    def __init__(self, image: ElfImage) -> None:
        self._image = image
        self._files: dict[str, Sequence[str]] = {}

    def of(self, line: str) -> str:
        """Return the text of ``file:line``, without indentation; empty if it is unknown."""
        file, _, number = line.rpartition(":")
        if not number.isdecimal():
            return ""
        if file not in self._files:
            self._files[file] = self._read(file)
        lines = self._files[file]
        return lines[int(number) - 1].strip()[:_LONGEST] if 0 < int(number) <= len(lines) else ""

    def _read(self, file: str) -> Sequence[str]:
        for path in (Path(file), ROOT / file):
            try:
                if path.stat().st_mtime <= self._made or self._is_cached:
                    return path.read_text("utf-8", errors="replace").splitlines()
            except OSError:
                continue
        return ()

    @property
    def _made(self) -> float:
        try:
            return self._image.path.stat().st_mtime
        except OSError:
            return 0.0

    @property
    def _is_cached(self) -> bool:
        return self._image.path.resolve().is_relative_to(cache_folder().resolve())
