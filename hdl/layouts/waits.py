"""Reasons why something waits, for readers of an observed run.

Does not import the hardware language, as :mod:`hdl.layouts.counters`: commands that only start a simulation use it.
"""

from __future__ import annotations

import enum

__all__ = ["STARVATION_CYCLES", "LookupWait"]

#: A warp that a scheduler has passed over for this many cycles counts as starved in the report of a hang.
STARVATION_CYCLES = 1024


class LookupWait(enum.IntEnum):
    """Why a line access stays in the LSU's lookup stage in a cycle; everything younger waits too."""

    NONE = 0
    #: Every MSHR is taken.
    MSHR = 1
    #: Every place for a part of a load that waits for memory is taken.
    PARTS = 2
    #: A load, and the write buffer holds its line (or, uncached, an earlier access is not done).
    ORDER = 3
    #: A store, and the write buffer is full.
    BUFFER = 4
    #: A line is on its way into the cache.
    FILL = 5
    #: A load that hits, and the one before it has not been written back.
    WRITEBACK = 6
