"""The format in memory of an entry of a list of accesses (docs/memory.md, "Order from a list")."""

from __future__ import annotations

import struct

__all__ = ["ENTRY", "ENTRY_BYTES", "LINE_BITS", "MOST_LINES", "MOST_WARPS", "WARP_BITS", "fields"]

#: Two words, the lower one first.
ENTRY = struct.Struct("<II")
ENTRY_BYTES = ENTRY.size
#: Widths of the fields of an entry, and the limits that follow from them.
WARP_BITS, LINE_BITS = 6, 6
MOST_WARPS, MOST_LINES = 1 << WARP_BITS, (1 << LINE_BITS) - 1


def fields(first: int, second: int) -> tuple[int, int, int, int]:
    """Return pc, store flag, warp and number of lines from the two words of an entry; all are 0 at the end."""
    return first & ~3, first & 1, second & MOST_WARPS - 1, second >> WARP_BITS & MOST_LINES
