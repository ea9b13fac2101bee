"""A set-associative cache in plain Python, true LRU by a list in order of use, and what there is without a cache."""

from dataclasses import dataclass

from metronome.hdl.config import SmConfig

__all__ = ["Line", "ReferenceCache", "ReferenceLines"]


@dataclass(frozen=True)
class Line:
    """One memory line as it was filled."""

    number: int
    data: int
    error: bool

    def word(self, pc: int) -> int:
        return self.data >> (8 * (pc % 64 & ~3)) & 0xFFFF_FFFF


class ReferenceCache:
    """What :class:`hdl.frontend.icache_store.ICacheStore` holds at the beginning of a cycle.

    ``look_up`` sees the refill of its own cycle; a hit counts as a use two cycles later, after the victim of a refill
    in that cycle has been chosen. The caller orders this: :meth:`choose_victim`, :meth:`touch`, :meth:`fill`,
    :meth:`clear`, then :meth:`look_up` of the lookup presented in the same cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        self.sets = config.icache_bytes // config.line_bytes // config.icache_ways
        self.ways: list[list[Line | None]] = [[None] * config.icache_ways for _ in range(self.sets)]
        self.use: list[list[int]] = [list(range(config.icache_ways)) for _ in range(self.sets)]

    def choose_victim(self, line: int) -> int:
        """The least recently used way."""
        return self.use[line % self.sets][0]

    def touch(self, line: int, way: int) -> None:
        order = self.use[line % self.sets]
        order.remove(way)
        order.append(way)

    def fill(self, line: Line, way: int) -> None:
        self.ways[line.number % self.sets][way] = line
        self.touch(line.number, way)

    def clear(self) -> None:
        for ways in self.ways:
            ways[:] = [None] * len(ways)

    def look_up(self, pc: int) -> tuple[int, Line] | None:
        """The way and line of ``pc``, or None."""
        for way, line in enumerate(self.ways[pc // 64 % self.sets]):
            if line is not None and line.number == pc // 64:
                return way, line
        return None

    def holds(self, line: int) -> bool:
        return self.look_up(line * 64) is not None


class ReferenceLines:
    """What :class:`hdl.frontend.line_store.LineStore` holds at the beginning of a cycle: a line a warp, or none."""

    def __init__(self) -> None:
        self.lines: dict[int, Line] = {}

    def fill(self, line: Line, warp: int) -> None:
        self.lines[warp] = line

    def clear(self) -> None:
        self.lines.clear()

    def look_up(self, pc: int, warp: int) -> tuple[int, Line] | None:
        """The warp and its line, if ``pc`` is in it."""
        line = self.lines.get(warp)
        return None if line is None or line.number != pc // 64 else (warp, line)

    def holds(self, line: int, warp: int) -> bool:
        return self.look_up(line * 64, warp) is not None
