"""The parts behind the lookup in plain Python, cycle by cycle: what each holds and says, without data.

Written from the contracts of docs/memory.md. A method or property tells what is true in a cycle; ``tick`` ends it.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BufferModel", "CacheModel", "Entry", "MissModel", "PartModel", "RequestModel", "ResponseModel"]


def lowest(slots: Sequence[Any]) -> int | None:
    """The lowest free number."""
    return next((number for number, slot in enumerate(slots) if slot is None), None)


class MissModel:
    """The MSHRs: each holds (line, uncached); ``unsent`` are their numbers in the order of allocation."""

    def __init__(self, count: int) -> None:
        self.registers: list[tuple[int, bool] | None] = [None] * count
        self.unsent: deque[int] = deque()

    @property
    def full(self) -> bool:
        return None not in self.registers

    def same(self, line: int, uncached: bool) -> list[int]:
        """The registers with this line; all uncached lines are one."""
        return [number for number, register in enumerate(self.registers)
                if register is not None and (register[0] == line or (uncached and register[1]))]

    def tick(self, *, allocate: tuple[int, bool] | None, release: int | None, sent: bool) -> None:
        if sent:
            self.unsent.popleft()
        free = lowest(self.registers)
        if allocate is not None:
            self.registers[free] = allocate
            self.unsent.append(free)
        if release is not None:
            self.registers[release] = None


class PartModel:
    """The parts of loads that wait: each is (number of its MSHR, part)."""

    def __init__(self, count: int) -> None:
        self.slots: list[tuple[int, Any] | None] = [None] * count

    @property
    def full(self) -> bool:
        return None not in self.slots

    def waiting(self, miss: int) -> list[int]:
        return [number for number, slot in enumerate(self.slots) if slot is not None and slot[0] == miss]

    def tick(self, *, add: tuple[int, Any] | None, take: int | None) -> Any:
        """``take``: a part of this MSHR leaves; it is returned. Not one that is added in this cycle."""
        free, taken = lowest(self.slots), None
        if take is not None:
            number = self.waiting(take)[0]
            taken = self.slots[number][1]
            self.slots[number] = None
        if add is not None:
            self.slots[free] = add
        return taken


@dataclass
class Entry:
    """A line with stores. ``after`` and ``loads``: the entries and the MSHRs that go first."""

    line: int
    uncached: bool
    mask: int
    first: Any
    warps: set[int]
    after: set[int] = field(default_factory=set)
    loads: set[int] = field(default_factory=set)
    sent: bool = False


class BufferModel:
    """The write buffer. ``request``: the number of the entry that is offered to memory.

    ``early``: the ``lookup_latency`` is 2, so that the entry that goes next (``picked``) waits in a register.
    """

    def __init__(self, count: int, *, early: bool = False) -> None:
        self.early = early
        self.picked: int | None = None
        self.entries: list[Entry | None] = [None] * count
        self.request: int | None = None
        self.last = -1

    @property
    def pending(self) -> set[int]:
        return {warp for entry in self.entries if entry is not None for warp in entry.warps}

    def chosen(self, ready: bool, arrives: bool = False) -> int | None:
        """The entry that will be offered in the next cycle, or picked; ``ready``: what is offered now is taken.

        ``arrives``: a line comes into the cache, over which stored bytes may go. With ``early`` they are read now.
        """
        busy = (self.early and arrives) or (self.request is not None and not ready)
        if busy and (self.picked is not None or not self.early):
            return None
        count = len(self.entries)
        turns = (number % count for number in range(self.last + 1, self.last + 1 + count))
        return next((number for number in turns if self.may_go(number)), None)

    def may_go(self, number: int) -> bool:
        entry = self.entries[number]
        return entry is not None and not entry.sent and not entry.after and not entry.loads

    def same(self, line: int, uncached: bool) -> list[int]:
        return [number for number, entry in enumerate(self.entries)
                if entry is not None and (entry.line == line or (uncached and entry.uncached))]

    def youngest(self, line: int, uncached: bool) -> int | None:
        """The entry that a load reads: of a line's two the one that has not been sent."""
        same = self.same(line, uncached)
        return next((number for number in same if not self.entries[number].sent), same[0] if same else None)

    def joined(self, line: int, uncached: bool, ready: bool) -> int | None:
        """The entry that a store joins."""
        if uncached:
            return None
        chosen = self.chosen(ready)
        return next((number for number in self.same(line, False)
                     if not self.entries[number].sent and (number != chosen or self.early)), None)

    def room(self, line: int, uncached: bool, ready: bool) -> bool:
        return None in self.entries or self.joined(line, uncached, ready) is not None

    def tick(self, *, write: Entry | None, ready: bool, filled: int | None, completed: int | None,
             arrives: bool = False) -> None:
        """``write``: a store, as an entry of its own whose ``loads`` are those to wait for."""
        chosen, free = self.chosen(ready, arrives), lowest(self.entries)
        if write is not None:
            number = self.joined(write.line, write.uncached, ready)
            if number is None:
                write.after = set(self.same(write.line, write.uncached))
                self.entries[free] = write
            else:
                self.entries[number].mask |= write.mask
                self.entries[number].warps |= write.warps
        if ready:
            self.request = None
        if chosen is not None:
            self.entries[chosen].sent = True
            self.last = chosen
        if self.early:
            if self.request is None and not arrives:
                self.request, self.picked = self.picked, None
            self.picked = self.picked if chosen is None else chosen
        elif chosen is not None:
            self.request = chosen
        if completed is not None:
            self.entries[completed] = None
        for entry in filter(None, self.entries):
            entry.after.discard(completed)
            entry.loads.discard(filled)


class RequestModel:
    """Loads' and stores' lines at the one port: in turn where both ask; what was offered stays."""

    def __init__(self) -> None:
        self.stored = self.held = False

    def use_store(self, load: bool, store: bool) -> bool:
        return self.stored if self.held else store and not (load and self.stored)

    def tick(self, load: bool, store: bool, ready: bool) -> None:
        if load or store:
            self.stored, self.held = self.use_store(load, store), not ready


class ResponseModel:
    """Three slots (a line's part from memory, a hit, a local load) and the writeback: the oldest slot goes first.

    A part is anything with ``writes_rd``; ``wb`` is the one that is written back.
    """

    def __init__(self) -> None:
        self.slots: list[Any] = [None, None, None]
        self.order = [0, 1, 2]
        self.wb: Any = None

    def leaves(self, ready: bool) -> list[bool]:
        """Which slots are left in this cycle."""
        wants = [slot is not None and slot.writes_rd for slot in self.slots]
        load = self.wb is None or ready
        first = next((slot for slot in self.order if wants[slot]), None) if load else None
        return [self.slots[slot] is not None and (not wants[slot] or slot == first) for slot in range(3)]

    def free(self, ready: bool) -> list[bool]:
        leaves = self.leaves(ready)
        return [slot is None or leaves[number] for number, slot in enumerate(self.slots)]

    def tick(self, pushes: Sequence[Any], ready: bool) -> None:
        leaves = self.leaves(ready)
        written = [slot for number, slot in enumerate(self.slots) if leaves[number] and slot.writes_rd]
        if written:
            (self.wb,) = written
        elif ready:
            self.wb = None
        for number, part in enumerate(pushes):
            if part is not None:
                self.order.remove(number)
                self.order.append(number)
                self.slots[number] = part
            elif leaves[number]:
                self.slots[number] = None


class CacheModel:
    """Which lines the data cache holds. A use counts for who must go two cycles later or later."""

    def __init__(self, *, capacity: int, ways: int, line_bits: int = 26) -> None:
        self.ways = ways
        self.bits = (capacity // 64 // ways - 1).bit_length() if capacity else 0
        self.line_bits = line_bits
        self.present = capacity > 0
        self._sets: dict[int, list[int]] = {}
        self._used: int | None = None

    def _index(self, line: int) -> int:
        """The number of a line's set. Bit j is the parity of bits j, j + bits, .."""
        index = 0
        for bit in range(self.bits):
            index |= sum(line >> place & 1 for place in range(bit, self.line_bits, self.bits)) % 2 << bit
        return index

    def _set(self, line: int) -> list[int]:
        """The lines of a line's set, the least recently used first."""
        return self._sets.setdefault(self._index(line), [])

    def same_set(self, line: int, other: int | None) -> bool:
        return self.present and other is not None and self._index(line) == self._index(other)

    def hit(self, line: int) -> bool:
        return self.present and line in self._set(line)

    def tick(self, *, use: int | None, fill: int | None) -> None:
        victim = None
        if fill is not None:
            lines = self._set(fill)
            victim = lines[0] if len(lines) == self.ways else None
        # The use of the cycle before does not choose who goes, but is older than the fill.
        if self._used is not None and self.hit(self._used):
            self._touch(self._used)
        if fill is not None:
            if victim is not None:
                lines.remove(victim)
            lines.append(fill)
        self._used = use

    def _touch(self, line: int) -> None:
        lines = self._set(line)
        lines.remove(line)
        lines.append(line)
