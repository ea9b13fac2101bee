"""Compile ordinary C for warps: splits, joins and masks at branches that may diverge (docs/divergence.md)."""

from .assembly import SimtError
from .insert import insert_divergence
from .listing import listing

__all__ = ["SimtError", "insert_divergence", "listing"]
