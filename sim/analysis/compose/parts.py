"""A bound and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Composed"]


@dataclass(frozen=True)
class Composed:
    """At most ``cycles`` from the launch to the end. ``parts``: what they are made of, by name; they add up to it."""

    method: str
    cycles: int
    parts: Mapping[str, int]
