"""Ordinary C on a warp: splits, joins and masks for branches that lanes disagree about (docs/divergence.md)."""

from .assembly import SimtError
from .insert import insert_divergence
from .listing import listing

__all__ = ["SimtError", "insert_divergence", "listing"]
