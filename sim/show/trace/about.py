"""Facts about a run that a trace contains besides the cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...program.elf import ElfImage

__all__ = ["About"]


@dataclass(frozen=True, kw_only=True)
class About:
    """``name``: one line that names the run. ``facts``: (name, value) pairs. ``image``: the source of its lines."""

    name: str
    facts: Sequence[tuple[str, str]]
    image: ElfImage
