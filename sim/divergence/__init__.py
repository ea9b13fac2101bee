"""Ordinary C on a warp: splits, joins and masks for branches that lanes disagree about (`build_elf(simt=True)`)."""

from .assembly import SimtError
from .insert import insert_divergence

__all__ = ["SimtError", "insert_divergence"]
