"""What a trace says of its run besides the cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...program.elf import ElfImage

__all__ = ["About"]


@dataclass(frozen=True, kw_only=True)
class About:
    """``name``: a line for the run. ``facts``: pairs of a name and what it is. ``image``: where its lines are from."""

    name: str
    facts: Sequence[tuple[str, str]]
    image: ElfImage
