"""The lines of data that a warp loads along a path: certainly in the cache, or possibly still to arrive."""

from __future__ import annotations

from collections.abc import Iterable

from ..code.costs import MISS
from ..paths.clock import Access
from .counts import SharedState, WarpCounts, few_lines

__all__ = ["UNTRACKED", "LoadedLines"]

#: The number of parts in flight of a load whose end is unknown.
UNTRACKED = 1 << 20


class LoadedLines:
    """The state of the data cache that follows from the loads this warp has waited for (docs/wcet.md, "Memory").

    A line that stays is certainly in the cache after an instruction that depends on a load of it. Until then, the
    latest cycle of its arrival is known, counted as if the warp were alone.
    """

    def __init__(self, shared: SharedState, counts: WarpCounts, present: Iterable[int] = ()) -> None:
        self._shared, self.counts = shared, counts
        self._present = {line for line in present if shared.stays(line)}
        #: Line -> the cycle in which an instruction that depends on its arrival can issue.
        self._comes: dict[int, int] = {}
        #: Register -> the lines of the load that it waits for, and the maximum number of its parts in flight.
        self._loads: dict[int, tuple[frozenset[int], int]] = {}
        #: The first and last line of loads from unknown places -> the most lines that they access.
        self._ranged: dict[tuple[int, int], int] = {}

    def copy(self, counts: WarpCounts) -> LoadedLines:
        """Return an independent copy for another path with these ``counts``."""
        twin = LoadedLines(self._shared, counts)
        twin._present, twin._comes = set(self._present), dict(self._comes)
        twin._loads, twin._ranged = dict(self._loads), dict(self._ranged)
        return twin

    def join(self, other: LoadedLines) -> None:
        """Join with ``other``: keep only the state that holds on both paths."""
        self._present &= other._present
        # A line requested on one path only may have to be requested again.
        comes = self._comes.keys() & other._comes.keys()
        self._comes = {line: max(self._comes[line], other._comes[line]) for line in comes}
        for register, (lines, parts) in other._loads.items():
            mine = self._loads.get(register)
            # If the load is not in flight on one path, its lines are unknown there.
            self._loads[register] = (frozenset(), parts) if mine is None else (mine[0] & lines, max(mine[1], parts))
        for register in self._loads.keys() - other._loads.keys():
            self._loads[register] = frozenset(), self._loads[register][1]
        for within, count in other._ranged.items():
            self._ranged[within] = max(count, self._ranged.get(within, 0))

    def met(self) -> None:
        """Record that the warp meets others; their time then includes its waits so far."""
        self._ranged.clear()

    def read(self, registers: Iterable[int]) -> None:
        """Record the issue of an instruction that depends on ``registers``."""
        for register in registers:
            load = self._loads.pop(register, None)
            if load is not None:
                self._present |= load[0]

    def drained(self) -> None:
        """Record that no load is in flight."""
        self.read(list(self._loads))

    def load(self, register: int | None, time: int, access: Access, excess: int) -> int:
        """Record a load issued at ``time``; return when a dependent instruction can issue."""
        ready = time + self._shared.costs.load + excess
        missed = ready + MISS + self._shared.memory.base
        if access.lines is None:
            ready = self._somewhere(access, ready, missed)
            stay, parts = frozenset[int](), access.most
        else:
            stay = frozenset(line for line in access.certain if self._shared.stays(line))
            lacking = [line for line in access.lines if line not in self._present]
            parts = len(lacking)
            for line in lacking:
                comes = self._comes.setdefault(line, missed) if line in stay else self._comes.get(line, missed)
                ready = max(ready, comes)
            self._shared.awaited.update(lacking)
        if parts:
            self.counts.missing += parts
            self._take(register, stay, parts)
        return ready

    def _somewhere(self, access: Access, ready: int, missed: int) -> int:
        within, lines = access.within, few_lines(access.within)
        if within is None or lines is None:
            return missed
        self._shared.awaited.update(lines)
        if not all(map(self._shared.stays, lines)):
            return missed
        # Each line of the range makes this warp wait once, at the first load that accesses it.
        self._ranged[within] = self._ranged.get(within, 0) + access.most
        return ready

    def _take(self, register: int | None, stay: frozenset[int], parts: int) -> None:
        if register is None:
            self.counts.parts = UNTRACKED
            return
        self._loads[register] = stay, parts
        self.counts.parts = max(self.counts.parts, sum(each for _, each in self._loads.values()))

    @property
    def ranged(self) -> int:
        """The cycles that the warp waits for lines at unknown places."""
        waits = sum(min(count, last - first + 1) for (first, last), count in self._ranged.items())
        return waits * (MISS + self._shared.memory.base)
