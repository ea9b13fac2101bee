"""Where in a program an instruction is, as people are shown it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...machine.events import NONE
from ...program.elf import ElfImage
from ...program.source_lines import Frame, own_frame

__all__ = ["Place", "place_of"]


class Place(NamedTuple):
    """``line``: ``file:line``, or what there is in its place. ``function``: that the line is in; empty if unknown.

    ``frames``: the function and those that it is inlined into, the outermost first.
    """

    line: str
    function: str
    frames: Sequence[Frame]


def place_of(image: ElfImage, pc: int) -> Place:
    """The place of an instruction; ``pc`` may be NONE."""
    if pc == NONE:
        return Place("(no instruction)", "", ())
    frames = image.frames_at(pc)
    own = own_frame(frames)
    if own is None:
        return Place(f"{pc:#010x}", "", ())
    file, _, line = own.line.rpartition(":")
    return Place(f"{file} (no line)" if line == "0" else own.line, own.function, frames)
