"""Named configurations (design.md section 1): warps x threads."""

from __future__ import annotations

from .config import SmConfig

__all__ = ["BASE", "MID", "PAPER", "PRESETS", "TINY"]

TINY = SmConfig(warps=2, threads=2)
BASE = SmConfig(warps=4, threads=4)
MID = SmConfig(warps=8, threads=8)
#: The size of the paper's evaluation (000, section VI-A2); one LSU tag a warp, so that each can have a load out.
PAPER = SmConfig(warps=32, threads=32, lsu_tags=32)

PRESETS: dict[str, SmConfig] = {"TINY": TINY, "BASE": BASE, "MID": MID, "PAPER": PAPER}
