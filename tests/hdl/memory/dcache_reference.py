"""The data cache in plain Python: sets as lists in order of use, and the lines that are asked for."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from metronome.hdl.config import SmConfig

__all__ = ["ReferenceDataCache"]


class ReferenceDataCache:
    """Follows the lookup events of a run, access by access, and says of each what it must be.

    A line comes in when memory has sent it, and only for a load; a store changes no line's presence. A use counts for
    the line that must go two cycles later or later. ``asked`` are the lines that loads have requested, in order.
    Which loads share the request of a line that memory refuses (``bad``) depends on when the answer came: that is not
    followed.
    """

    def __init__(self, config: SmConfig, bad: Callable[[int], bool] = lambda line: False) -> None:
        self.bad = bad
        self.ways = config.dcache_ways
        self.bits = (config.dcache_bytes // 64 // config.dcache_ways - 1).bit_length()
        self.user = config.memory_map.user // 64
        #: Lines of each set, the least recently used first.
        self.sets: dict[int, list[int]] = {}
        self.outstanding: set[int] = set()
        self.asked: list[int] = []
        self.unmerged_stores = 0
        self.seen: Counter[str] = Counter()
        self._uses: list[tuple[int, int]] = []

    def set_of(self, line: int) -> int:
        """Bit j of the set is the parity of the line's bits j, j + bits, j + 2 bits, .."""
        return sum(sum(line >> place & 1 for place in range(bit, 26, self.bits)) % 2 << bit for bit in range(self.bits))

    def lines(self, line: int) -> list[int]:
        return self.sets.setdefault(self.set_of(line), [])

    def step(self, cycle: int, event: Any) -> None:
        """One cycle's event; raises AssertionError, with the cycle, where the unit did something else."""
        where = f"cycle {cycle}, line {event.line:#x}"
        if event.access:
            assert event.hit == (event.line in self.lines(event.line)), f"{where}: hit {event.hit}"
            assert event.uncached == (event.line < self.user), where
            if event.hit:
                self._uses.append((cycle, event.line))
                self.seen["hit by a store" if event.store else "hit"] += 1
            if event.store:
                self.unmerged_stores += not event.merge
            elif not event.hit and not event.forward:
                self._miss(event, where)
            self.seen["forward"] += event.forward
        if event.fill:
            self._fill(cycle, event.fill_line)

    def _miss(self, event: Any, where: str) -> None:
        joins = bool(event.merge) if self.bad(event.line) else event.line in self.outstanding
        assert event.merge == joins, f"{where}: merge {event.merge}, line requested {joins}"
        self.seen["merge" if joins else "miss"] += 1
        if not joins:
            self.asked.append(event.line)
        if not joins and not event.uncached and not self.bad(event.line):
            self.outstanding.add(event.line)

    def _touch(self, before: int) -> None:
        """Apply the uses of the cycles below ``before``."""
        for cycle, line in [use for use in self._uses if use[0] < before]:
            self._uses.remove((cycle, line))
            # A line that went in the meantime leaves its use to the way, which a new line has taken and used since.
            if line in self.lines(line):
                self.lines(line).remove(line)
                self.lines(line).append(line)

    def _fill(self, cycle: int, line: int) -> None:
        assert line in self.outstanding, f"cycle {cycle}: fill of line {line:#x}, which nobody asked for"
        self.outstanding.remove(line)
        lines = self.lines(line)
        assert line not in lines, f"cycle {cycle}: fill of line {line:#x}, which is there"
        self._touch(cycle - 1)
        victim = lines[0] if len(lines) == self.ways else None
        # The use of the cycle before counts from now on, but is older than the fill.
        self._touch(cycle)
        if victim is not None:
            lines.remove(victim)
            self.seen["evicted"] += 1
        lines.append(line)
