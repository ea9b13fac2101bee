"""A configuration for the solver: what channels and the reordering unit ask of one."""

from __future__ import annotations

from dataclasses import dataclass, field

from metronome.hdl.config import Channels, MemoryMap

__all__ = ["Narrow"]


@dataclass(frozen=True, kw_only=True)
class Narrow:
    """Stands for an SmConfig, with lines so short that the solver has little to carry."""

    warps: int
    channel_depth: int
    channels: Channels
    threads: int = 1
    line_bytes: int = 8
    words_per_line: int = 2
    load_parts: int = 2
    l1_tag_bits: int = 2
    assertions: bool = False
    memory_map: MemoryMap = field(default_factory=MemoryMap)

    @property
    def warp_bits(self) -> int:
        """Bits of a warp's number."""
        return max(1, (self.warps - 1).bit_length())
