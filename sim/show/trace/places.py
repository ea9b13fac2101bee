"""The place of an instruction in a program, as shown to a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...machine.events import NONE
from ...program.elf import ElfImage
from ...program.source_lines import Frame, own_frame

__all__ = ["Place", "place_of"]


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
