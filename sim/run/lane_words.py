"""Lanes in words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["in_words", "lanes_of"]


def lanes_of(mask: int) -> list[int]:
    """Return the lanes in a mask, ascending."""
    return [lane for lane in range(mask.bit_length()) if mask >> lane & 1]


def in_words(lanes: Sequence[int]) -> str:
    """Return ascending lanes as text: "lane 3", "lanes 0-3, 6"."""
    parts: list[list[int]] = []
    for lane in lanes:
        if parts and parts[-1][-1] == lane - 1:
            parts[-1].append(lane)
        else:
            parts.append([lane])
    text = ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
    return f"lane{'s' * (len(lanes) > 1)} {text}"
