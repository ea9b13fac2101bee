"""The addresses that have on-chip memory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ..config import LINE_BYTES, SmConfig

__all__ = ["MEMORY_WORD_BYTES", "Region", "Regions", "pieces", "regions_of"]

#: Bytes of a word of the memory.
MEMORY_WORD_BYTES = 8


@dataclass(frozen=True, kw_only=True)
class Region:
    """A contiguous piece of memory."""

    name: str  # its purpose
    first: int  # [address] its first byte
    size: int  # [bytes] a power of two of whole lines; ``first`` is a multiple of it

    def __post_init__(self) -> None:
        power = self.size > 0 and self.size & (self.size - 1) == 0
        if not power or self.size < LINE_BYTES:
            raise ValueError(f"{self.name} must have a power of two of at least {LINE_BYTES} bytes, not {self.size}")
        if self.first % self.size:
            raise ValueError(f"{self.name} must begin at a multiple of its {self.size} bytes, not {self.first:#010x}")

    @property
    def end(self) -> int:
        """One past its last byte."""
        return self.first + self.size


@dataclass(frozen=True)
class Regions:
    """All regions, the largest first, so that each begins in the memory at a multiple of its size.

    Raises
    ------
    ValueError
        If two overlap.
    """

    parts: tuple[Region, ...]  # the largest first

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(sorted(self.parts, key=lambda part: (-part.size, part.first))))
        ordered = sorted(self.parts, key=lambda part: part.first)
        for low, high in itertools.pairwise(ordered):
            if high.first < low.end:
                raise ValueError(f"{low.name} and {high.name} overlap at {high.first:#010x}")

    @property
    def size(self) -> int:
        """The bytes of all regions."""
        return sum(part.size for part in self.parts)

    def places(self) -> list[tuple[Region, int]]:
        """Each region with the byte in the memory at which it begins."""
        return [(part, sum(other.size for other in self.parts[:n])) for n, part in enumerate(self.parts)]

    def has(self, address: int, size: int) -> bool:
        """Whether there is memory for all of these bytes."""
        while size > 0:
            part = next((part for part in self.parts if part.first <= address < part.end), None)
            if part is None:
                return False
            address, size = part.end, size - (part.end - address)
        return True


def pieces(name: str, first: int, size: int) -> list[Region]:
    """The fewest regions that together cover these bytes.

    Raises
    ------
    ValueError
        Unless both are multiples of a line and ``size`` is at least one line.
    """
    if size <= 0 or size % LINE_BYTES:
        raise ValueError(f"{name} must have a multiple of {LINE_BYTES} bytes, at least {LINE_BYTES}, not {size}")
    found = []
    while size:
        aligned = first & -first if first else 1 << 32
        part = min(aligned, 1 << (size.bit_length() - 1))
        found.append(Region(name=name, first=first, size=part))
        first, size = first + part, size - part
    return found


def regions_of(
    config: SmConfig, *, user_bytes: int = 64 * 1024, program_bytes: int = 32 * 1024, system_bytes: int = 2048
) -> Regions:
    """Memory for programs of the usual map: console and exit code, buffers, program, and all stacks of the machine.

    Raises
    ------
    ValueError
        If a size is not a multiple of a line, or regions overlap.
    """
    places = config.memory_map
    stacks = 1 << (places.stack_bytes_per_hart * config.harts - 1).bit_length()
    return Regions((
        *pieces("system", 0, system_bytes), *pieces("user", places.user, user_bytes),
        *pieces("program", places.start, program_bytes), *pieces("stacks", places.stack_top - stacks, stacks),
    ))
