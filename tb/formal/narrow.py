"""Small configuration for the solver, with the fields that the channels and the reordering unit use."""

from __future__ import annotations

from dataclasses import dataclass, field

from metronome.hdl.config import Channels, MemoryMap

__all__ = ["NarrowConfig"]


@dataclass(frozen=True, kw_only=True)
class NarrowConfig:
    """Stand-in for an SmConfig whose lines are short enough to keep the solver's state small."""

    warps: int
    channel_depth: int
    channels: Channels
    threads: int = 1
    line_bytes: int = 8
    words_per_line: int = 2
    load_parts: int = 2
    l1_tag_bits: int = 2
    lookup_latency: int = 1
    assertions: bool = False
    memory_map: MemoryMap = field(default_factory=MemoryMap)

    @property
    def warp_bits(self) -> int:
        """Width of a warp number in bits."""
        return max(1, (self.warps - 1).bit_length())
