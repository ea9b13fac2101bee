"""An entry of a list of accesses as it lies in memory (docs/memory.md, "Order from a list")."""

from __future__ import annotations

import struct

__all__ = ["ENTRY", "ENTRY_BYTES", "LINE_BITS", "MOST_LINES", "MOST_WARPS", "WARP_BITS", "fields"]

#: Two words, the lower one first.
ENTRY = struct.Struct("<II")
ENTRY_BYTES = ENTRY.size
#: What an entry has bits for.
WARP_BITS, LINE_BITS = 6, 6
MOST_WARPS, MOST_LINES = 1 << WARP_BITS, (1 << LINE_BITS) - 1


def fields(first: int, second: int) -> tuple[int, int, int, int]:
    """Of the two words of an entry: pc, whether it is a store, warp, lines; all 0 at the end."""
    return first & ~3, first & 1, second & MOST_WARPS - 1, second >> WARP_BITS & MOST_LINES
