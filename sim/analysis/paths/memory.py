"""Memory with unknown contents, and the races between warps.

Each byte is known or unknown. If a warp may store to a word while another warp accesses it, and nothing orders the two,
the word is a race: it is unknown from the start. When the analysis finds new races, it runs again.
"""

from __future__ import annotations

import numpy as np

from metronome.hdl.config import SmConfig

from ...machine.golden.local import LocalMemory
from ...machine.memory.shadow import Marks, Pages
from ...machine.memory.store import AccessError, SparseMemory
from ..code.inputs import Range
from ..code.numbers import TOP, Interval, from_integers, hull, unsigned
from ..code.reads import RangeReads

__all__ = ["Memory", "Overlay", "VectorClocks", "part_of"]

_WORD = 4
#: Word address -> the interval of its value (sim.analysis.code.numbers).
Overlay = dict[int, tuple[int, int]]


class VectorClocks:
    """Vector clocks that order stretches: the parts of a warp's run between two synchronizations."""

    def __init__(self, warps: int) -> None:
        self._clock = np.zeros((warps, warps), np.int64)
        self._warp: list[int] = [0]
        self._own: list[int] = [0]
        self._seen: list[np.ndarray] = [np.zeros(warps, np.int64)]
        self.now = [0] * warps
        for warp in range(warps):
            self._begin(warp)

    def _begin(self, warp: int) -> None:
        self._clock[warp, warp] += 1
        self.now[warp] = len(self._warp)
        self._warp.append(warp)
        self._own.append(int(self._clock[warp, warp]))
        self._seen.append(self._clock[warp].copy())

    def meet(self, warps: list[int]) -> dict[int, int]:
        """Order everything that ``warps`` have done before everything that they do from now on.

        Return the stretch of each warp that ended, for :meth:`ordered_after`.
        """
        ended = {warp: int(self._clock[warp, warp]) for warp in warps}
        self._clock[warps] = self._clock[warps].max(axis=0)
        for warp in warps:
            self._begin(warp)
        return ended

    def ordered_after(self, warp: int, ended: dict[int, int]) -> bool:
        """Return whether the stretches in ``ended`` come before the current stretch of ``warp``."""
        return all(self._clock[warp, other] >= stretch for other, stretch in ended.items())

    def unordered(self, stretches: np.ndarray, warp: int) -> bool:
        """Return whether one of ``stretches`` (0: none) is unordered with the current stretch of ``warp``."""
        seen = self._clock[warp]
        return any(
            self._warp[each] != warp and self._own[each] > seen[self._warp[each]]
            for each in set(stretches.tolist()) if each
        )


class _Cells(Pages):
    """For each word, the stretches of the last store and of each warp's last load."""

    def __init__(self, warps: int) -> None:
        self.stores = np.zeros(0, np.int32)
        self.loads = np.zeros((0, warps), np.int32)
        super().__init__()

    def _grow(self, pages: int) -> None:
        cells = pages << 10
        stores, loads = np.zeros(cells, np.int32), np.zeros((cells, self.loads.shape[1]), np.int32)
        stores[: len(self.stores)], loads[: len(self.loads)] = self.stores, self.loads
        self.stores, self.loads = stores, loads

    def _fill(self, slot: int, page: int) -> None:
        """Leave the new page empty: no warp has accessed it."""


class Memory:
    """Memory and local memory of one SM."""

    def __init__(
        self, config: SmConfig, memory: SparseMemory, local: LocalMemory, races: set[int], reads: RangeReads
    ) -> None:
        self._memory, self._local, self.reads = memory, local, reads
        self._unknown = Marks()
        self._intervals: Overlay = {}
        #: The address of ``main``, until it is entered, and the ranges that apply again at that time.
        self.main: int | None = None
        self.late: list[Range] = []
        #: The size and the two ends of assumed ranges of one or two bytes, by address.
        self._parts: dict[int, tuple[int, int, int]] = {}
        self._cells = _Cells(config.warps)
        self.times = VectorClocks(config.warps)
        #: With several SMs, the words of each access, and whether it is a store (:mod:`.several_sms`).
        self.log: list[tuple[np.ndarray, bool]] | None = None
        #: The word addresses of races, extended as they are found.
        self.races = races
        for word in races:
            self._unknown.mark(word, word + _WORD)

    def forget(self, first: int, end: int) -> None:
        """Make the bytes of [first, end) unknown."""
        self._unknown.mark(first, end)
        for address in [each for each in self._parts if first - 1 <= each < end]:
            del self._parts[address]
        words = range(first & ~3, end, _WORD)
        for word in words if len(words) < len(self._intervals) else list(self._intervals):
            if word in words:
                self._intervals.pop(word, None)

    def assume(self, inputs: Range) -> None:
        """Assume a range of inputs, except in racing words. The values come from outside: no warp stores them."""
        addresses = np.arange(inputs.first, inputs.end, inputs.size, dtype=np.uint32)
        low, high = (np.full(len(addresses), int(each[0])) for each in inputs.interval)
        self._put(addresses, inputs.size, *(low, high) if inputs.size == _WORD else unsigned((low, high)))
        if inputs.size < _WORD:
            for address in addresses.tolist():
                if address & ~3 not in self.races:
                    self._parts[address] = inputs.size, int(inputs.low), int(inputs.high)

    def note(self, warp: int, addresses: np.ndarray, *, store: bool) -> None:
        """Record that ``warp`` accesses the words at ``addresses``, and find races."""
        words = np.unique(addresses >> np.uint32(2)) << np.uint32(2)
        if self.log is not None:
            self.log.append((words, store))
        cells = self._cells.places(words, int(words[0]), int(words[-1])) >> 2
        stores, now = self._cells.stores[cells], self.times.now[warp]
        bad = np.zeros(len(cells), bool)
        if self.times.unordered(stores, warp):
            bad |= [self.times.unordered(stores[at : at + 1], warp) for at in range(len(cells))]
        if store:
            loads = self._cells.loads[cells]
            if loads.any() and self.times.unordered(loads.reshape(-1), warp):
                bad |= [self.times.unordered(row, warp) for row in loads]
            self._cells.stores[cells] = now
        else:
            self._cells.loads[cells, warp] = now
        if bad.any():
            self.races.update(words[bad].tolist())

    def word(self, address: int, overlay: Overlay | None = None) -> tuple[int, int]:
        """Return the interval of the word at ``address``."""
        if overlay and address in overlay:
            return overlay[address]
        if bool(self._unknown.read(np.array([address], np.uint32), _WORD)[0]):
            return self._intervals.get(address, (0, TOP))
        value = int(self._raw(np.array([address], np.uint32), _WORD)[0])
        return value, value

    def _raw(self, addresses: np.ndarray, size: int) -> np.ndarray:
        local = (addresses >= self._local.base) & (addresses < self._local.end)
        if not local.any():
            return self._memory.gather(addresses, size)
        values = np.zeros(len(addresses), np.uint32)
        values[local] = self._local.gather(addresses[local], size)
        if not local.all():
            values[~local] = self._memory.gather(addresses[~local], size)
        return values

    def load(self, addresses: np.ndarray, size: int, *, signed: bool, overlay: Overlay) -> Interval:
        """Return the interval of the ``size`` bytes at each of ``addresses``, sign- or zero-extended (int64)."""
        if len(addresses) > 1 and bool((addresses == addresses[0]).all()):
            low, high = self.load(addresses[:1], size, signed=signed, overlay=overlay)
            return np.broadcast_to(low, len(addresses)), np.broadcast_to(high, len(addresses))
        if self.reads.unread:
            seen = addresses if not overlay else addresses[[each & ~3 not in overlay for each in addresses.tolist()]]
            self.reads.load(seen, size)
        values = self._raw(addresses, size)
        if signed:
            values = values.astype({1: np.int8, 2: np.int16}[size]).astype(np.int32).view(np.uint32)
        low = values.astype(np.int64)
        high = low.copy()
        unknown = self._unknown.read(addresses, size)
        top = (1 << 8 * size) - 1 if not signed else TOP
        for at in np.flatnonzero(unknown).tolist():
            address = int(addresses[at])
            if size == _WORD:
                low[at], high[at] = self._intervals.get(address, (0, top))
            else:
                low[at], high[at] = self._part(address, size, signed=signed)
        if overlay:
            for at, address in enumerate(addresses.tolist()):
                if address & ~3 in overlay:
                    low[at], high[at] = part_of(overlay[address & ~3], address & 3, size, signed=signed)
        return low, high

    def _part(self, address: int, size: int, *, signed: bool) -> tuple[int, int]:
        """Return the sign- or zero-extended interval of ``size`` bytes that are not all known."""
        bits = 8 * size
        top = TOP if signed else (1 << bits) - 1
        known, low, high = self._parts.get(address, (0, 0, 0))
        if known != size:
            return 0, top
        if signed and (low < 0 or high < 1 << bits - 1):
            found = from_integers(np.array([low]), np.array([high]))
        elif not signed and (low >= 0 or high < 0):
            found = np.array([low]) & top, np.array([high]) & top
        else:
            return 0, top
        return int(found[0][0]), int(found[1][0])

    def store(self, addresses: np.ndarray, size: int, low: np.ndarray, high: np.ndarray) -> None:
        """Store to each of ``addresses``. If an address occurs twice, the last store wins."""
        if self.reads.unread:
            self.reads.store(addresses, size)
        if self._parts:
            for address in addresses.tolist():
                for each in range(address - 1, address + size):
                    if each >= address or self._parts.get(each, (0,))[0] > 1:
                        self._parts.pop(each, None)
        self._put(addresses, size, low, high)

    def arrive(self) -> None:
        """Enter ``main``: assume the ranges of variables again."""
        self.main = None
        self.reads.arrive(self.late)
        for each in self.late:
            self.assume(each)

    def between(self, first: int, end: int, size: int, *, signed: bool, overlay: Overlay) -> tuple[int, int]:
        """Return the interval of all aligned values of ``size`` bytes in [first, end)."""
        self.reads.load_between(first, end)
        addresses = np.arange(-(-first // size) * size, end - size + 1, size, dtype=np.int64)
        try:
            low, high = self.load(addresses.astype(np.uint32), size, signed=signed, overlay=overlay)
        except AccessError:
            return 0, TOP if signed or size == _WORD else (1 << 8 * size) - 1
        found = low[:1], high[:1]
        while len(low) > 1:
            # Halve the array until one interval is left.
            half = len(low) + 1 >> 1
            low, high = found = hull((low[:half], high[:half]), (low[-half:], high[-half:]))
        return int(found[0][0]), int(found[1][0])

    def _put(self, addresses: np.ndarray, size: int, low: np.ndarray, high: np.ndarray) -> None:
        known = low == high
        local = (addresses >= self._local.base) & (addresses < self._local.end)
        for chosen, scatter in ((local, self._local.scatter), (~local, self._memory.scatter)):
            at = chosen & known
            if at.any():
                scatter(addresses[at], low[at].astype(np.uint32), size)
        self._unknown.write(addresses, size, ~known)
        if self._intervals or not known.all():
            for address, least, greatest in zip(addresses.tolist(), low.tolist(), high.tolist(), strict=True):
                self._intervals.pop(address & ~3, None)
                if size == _WORD and least != greatest and (least, greatest) != (0, TOP):
                    self._intervals[address] = least, greatest
        if self.races:
            for address in addresses.tolist():
                if address & ~3 in self.races:
                    self.forget(address & ~3, (address & ~3) + _WORD)

    def take(self, other: Memory, words: np.ndarray) -> None:
        """Take over the contents of ``words``, which another SM has stored."""
        low = other._raw(words, _WORD).astype(np.int64)
        high = low.copy()
        for at in np.flatnonzero(other._unknown.read(words, _WORD)).tolist():
            low[at], high[at] = other._intervals.get(int(words[at]), (0, TOP))
        self.store(words, _WORD, low, high)

    def flush(self, overlay: Overlay) -> None:
        """Write a path's stores to memory, once it is the only path left."""
        for address, (low, high) in overlay.items():
            self.store(np.array([address], np.uint32), _WORD, np.array([low]), np.array([high]))


def part_of(word: tuple[int, int], offset: int, size: int, *, signed: bool) -> tuple[int, int]:
    """Return the interval of ``size`` bytes of a word."""
    low, high = word
    if size == _WORD:
        return word
    if low != high:
        return (0, TOP if signed else (1 << 8 * size) - 1)
    bits = 8 * size
    value = low >> 8 * offset & (1 << bits) - 1
    if signed and value >> bits - 1:
        value += (1 << 32) - (1 << bits)
    return value, value
