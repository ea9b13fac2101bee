"""Hits and misses of a sequence of accesses in a cache of any size.

The cache is that of docs/memory.md: write-through, with allocation for loads only and LRU replacement. The set is the
exclusive or of all groups of set bits of the line number. A load that misses takes its way at its lookup, so a later
load of the line hits even before memory answers. The write buffer is left out, because it depends on time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from metronome.hdl.config import LINE_BYTES, SmConfig

from ...predict.model.compiled import as_python
from ...predict.model.search import hashed
from .records import Listing

__all__ = ["CacheSize", "Counts", "Estimate", "Lookup", "LruCache", "Mismatch", "compare", "estimate", "estimate_of",
           "lookups"]


@dataclass(frozen=True)
class CacheSize:
    """A cache of ``bytes`` with ``ways`` in each set; 0 bytes: no cache. A line has 64 bytes."""

    bytes: int
    ways: int = 1

    def __post_init__(self) -> None:
        if self.bytes < 0:
            raise ValueError(f"bytes must be at least 0, not {self.bytes!r}")
        if self.ways < 1:
            raise ValueError(f"ways must be at least 1, not {self.ways!r}")
        sets, rest = divmod(self.bytes, LINE_BYTES * self.ways)
        if rest or sets & sets - 1:
            raise ValueError(
                f"bytes must be {LINE_BYTES} * ways * a power of two, not {self.bytes!r} with ways={self.ways!r}"
            )

    @classmethod
    def of(cls, config: SmConfig) -> CacheSize:
        """The data cache of a machine."""
        return cls(config.dcache_bytes, config.dcache_ways if config.dcache_bytes else 1)

    @property
    def sets(self) -> int:
        """The number of sets; 0 without a cache."""
        return self.bytes // (LINE_BYTES * self.ways)

    def __str__(self) -> str:
        """Return the size as on the command line: 16K/4, or none."""
        if not self.bytes:
            return "none"
        kib, rest = divmod(self.bytes, 1024)
        return f"{self.bytes if rest else f'{kib}K'}/{self.ways}"


class Lookup(NamedTuple):
    """One line access."""

    pc: int
    store: bool
    line: int
    uncached: bool = False


@dataclass
class Counts:
    """Counts of line accesses: ``hits`` and ``misses`` of loads, all ``stores``, and ``store_hits`` among them."""

    hits: int = 0
    misses: int = 0
    stores: int = 0
    store_hits: int = 0

    @property
    def loads(self) -> int:
        """The line accesses of loads."""
        return self.hits + self.misses

    @property
    def miss_rate(self) -> float | None:
        """The fraction of loads that miss; None without loads."""
        return self.misses / self.loads if self.loads else None

    def count(self, store: bool, hit: bool) -> None:
        """Count a line access."""
        if store:
            self.stores += 1
            self.store_hits += hit
        elif hit:
            self.hits += 1
        else:
            self.misses += 1


class LruCache:
    """Lines by set, the least recently used first."""

    def __init__(self, size: CacheSize) -> None:
        self._ways = size.ways
        self._sets: list[dict[int, None]] = [{} for _ in range(size.sets)]

    def set_of(self, line: int) -> int:
        """Return the set of a line, as in the predictor and the hardware."""
        sets = len(self._sets)
        index: int = as_python(hashed)(line, sets, max(1, sets.bit_length() - 1))
        return index

    def look_up(self, line: int, store: bool) -> bool:
        """Look up a line, and return whether it hits. A hit counts as a use; a load that misses allocates the line."""
        if not self._sets:
            return False
        held = self._sets[self.set_of(line)]
        hit = line in held
        if hit:
            del held[line]
        elif store:
            return False
        elif len(held) == self._ways:
            del held[next(iter(held))]
        held[line] = None
        return hit


@dataclass(frozen=True)
class Estimate:
    """The expected hits and misses in one cache, by pc and in total."""

    size: CacheSize
    by_pc: Mapping[int, Counts]
    total: Counts = field(default_factory=Counts)


def lookups(listing: Listing) -> Iterator[Lookup]:
    """Yield the line accesses of the measured region, in order."""
    for each in listing.accesses:
        for line in each.lines:
            yield Lookup(each.pc, each.store, line, line < listing.user_line)


def estimate(sequence: Iterable[Lookup], size: CacheSize) -> Estimate:
    """Return the hits and misses of ``sequence`` in an initially empty cache."""
    cache, by_pc, total = LruCache(size), dict[int, Counts](), Counts()
    for pc, store, line, uncached in sequence:
        hit = not uncached and cache.look_up(line, store)
        by_pc.setdefault(pc, Counts()).count(store, hit)
        total.count(store, hit)
    return Estimate(size, dict(sorted(by_pc.items())), total)


def estimate_of(listing: Listing, config: SmConfig) -> Estimate:
    """Return the hits and misses of ``listing`` in the data cache of a machine."""
    return estimate(lookups(listing), CacheSize.of(config))


class Mismatch(NamedTuple):
    """A pc whose measured misses differ from the estimate."""

    pc: int
    estimated: int
    measured: int


def compare(expected: Estimate, measured: Mapping[int, int]) -> list[Mismatch]:
    """Return the pcs whose ``measured`` misses differ from those ``expected``; a missing pc had none."""
    estimated = {pc: counts.misses for pc, counts in expected.by_pc.items()}
    return [
        Mismatch(pc, estimated.get(pc, 0), measured.get(pc, 0)) for pc in sorted(estimated.keys() | measured.keys())
        if estimated.get(pc, 0) != measured.get(pc, 0)
    ]
