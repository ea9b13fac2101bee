"""The order as the reordering unit reads it from memory (docs/analyze.md, "The configuration")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metronome.hdl.config import LINE_BYTES

from ...machine.access_list import ENTRY, ENTRY_BYTES, LINE_BITS, MOST_LINES, MOST_WARPS, WARP_BITS
from .records import Access

__all__ = ["Entry", "decode", "encode", "entries_of"]

_END = bytes(ENTRY_BYTES)


@dataclass(frozen=True)
class Entry:
    """A warp's load or store, which makes ``lines`` line accesses."""

    pc: int
    store: bool
    warp: int
    lines: int

    def __post_init__(self) -> None:
        if self.pc & 3 or not 0 <= self.pc < 1 << 32:
            raise ValueError(f"pc must be a multiple of 4 of 32 bits, not {self.pc!r}")
        if not 0 <= self.warp < MOST_WARPS:
            raise ValueError(f"warp must be between 0 and {MOST_WARPS - 1}, not {self.warp!r}")
        if not 1 <= self.lines <= MOST_LINES:
            raise ValueError(f"lines must be between 1 and {MOST_LINES}, not {self.lines!r}")


def entries_of(accesses: Iterable[Access]) -> list[Entry]:
    """Return the entries of ``accesses``, which must be in order."""
    return [Entry(each.pc, each.store, each.warp, len(each.lines)) for each in accesses]


def encode(entries: Iterable[Entry]) -> bytes:
    """Return the configuration: the entries, an entry of zeros, and zeros to the end of the line."""
    packed = b"".join(ENTRY.pack(each.pc | each.store, each.lines << WARP_BITS | each.warp) for each in entries) + _END
    return packed + bytes(-len(packed) % LINE_BYTES)


def decode(data: bytes) -> list[Entry]:
    """Return the entries of a configuration, up to its end.

    Raises
    ------
    ValueError
        If it has no end, or an invalid entry.
    """
    entries: list[Entry] = []
    for start in range(0, len(data) - ENTRY_BYTES + 1, ENTRY_BYTES):
        packed = data[start : start + ENTRY_BYTES]
        if packed == _END:
            return entries
        first, second = ENTRY.unpack(packed)
        if second >> WARP_BITS + LINE_BITS:
            raise ValueError(f"bits above {WARP_BITS + LINE_BITS - 1} of word 1 must be 0, not {second:#x}")
        entries.append(Entry(first & ~1, bool(first & 1), second & MOST_WARPS - 1, second >> WARP_BITS))
    raise ValueError("the configuration must end with an entry of zeros")
