"""The values that a load may return when another SM stores to the same place (docs/memory.md, "Several SMs")."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["Reader", "StoreHistory"]

#: A time before and after all cycles.
_BEFORE, _NEVER = -1, 1 << 62


@dataclass(slots=True)
class _Version:
    """A value that a byte has had; ``sm`` is -1 for its value at the launch."""

    value: int
    sm: int
    warp: int
    cycle: int


@dataclass(frozen=True)
class Reader:
    """A load: of which warp, and in which cycle it was issued; by no SM (-1) for memory at the end."""

    sm: int
    warp: int
    cycle: int


class StoreHistory:
    """All stores to memory in issue order, and the points at which warps have ordered their accesses.

    A value is *hidden* from a load if a later one is known to have replaced it: it was stored after it, in the same SM
    or after an order point, and its store is of the load's SM, or its warp and that of the load have both passed an
    order point since. The load may return every value that is not hidden, but none that its own SM stores after it.

    Order points are fences, of a warp, and barriers between SMs, of all warps of the SM.

    ``initial`` returns a byte of memory at the launch.
    """

    def __init__(self, initial: Callable[[int], int]) -> None:
        self._initial = initial
        self._log: list[tuple[int, int, int, np.ndarray, np.ndarray, int]] = []
        #: Stores that are in ``_bytes``.
        self._indexed = 0
        self._bytes: dict[int, list[_Version]] = defaultdict(list)
        #: The cycles of order points, by SM and warp.
        self._points: dict[tuple[int, int], list[int]] = defaultdict(list)

    def store(self, sm: int, warp: int, cycle: int, addresses: np.ndarray, data: np.ndarray, size: int) -> None:
        """Note a store of ``size`` bytes to each of ``addresses``, in program order of the lanes."""
        self._log.append((sm, warp, cycle, addresses.copy(), data.copy(), size))

    def order(self, sm: int, warp: int, cycle: int) -> None:
        """Note an order point of a warp."""
        self._points[sm, warp].append(cycle)

    def may_be(self, address: int, value: int, reader: Reader) -> bool:
        """Whether a load may find ``value`` in the byte at ``address``."""
        return any(version.value == value for version in self._visible(address, reader))

    def _visible(self, address: int, reader: Reader) -> Iterator[_Version]:
        self._index()
        versions = [_Version(self._initial(address), -1, -1, _BEFORE), *self._bytes.get(address, ())]
        for number, version in enumerate(versions):
            if version.sm == reader.sm and version.cycle > reader.cycle:
                continue
            if not any(
                self._ordered(version, later.sm, later.warp, later.cycle)
                and self._ordered(later, reader.sm, reader.warp, reader.cycle)
                for later in versions[number + 1 :]
            ):
                yield version

    def _ordered(self, version: _Version, sm: int, warp: int, cycle: int) -> bool:
        """Whether the store of ``version`` is known to be done before an access in ``cycle`` by a warp of an SM.

        The access is later in issue order, unless it is a load that was issued before the store and answered after it.
        """
        if version.sm == -1:
            return True
        if version.cycle > cycle:
            return False
        # At the end all stores are done.
        return sm in (-1, version.sm) or self._next(version) <= self._last(sm, warp, cycle)

    def _next(self, version: _Version) -> int:
        """The first order point of the storing warp after the store."""
        points = self._points[version.sm, version.warp]
        place = bisect_right(points, version.cycle)
        return points[place] if place < len(points) else _NEVER

    def _last(self, sm: int, warp: int, cycle: int) -> int:
        """The last order point of a warp before ``cycle``."""
        points = self._points[sm, warp]
        place = bisect_right(points, cycle)
        return points[place - 1] if place else _BEFORE

    def _index(self) -> None:
        for sm, warp, cycle, addresses, data, size in self._log[self._indexed :]:
            for address, word in zip(addresses.tolist(), data.tolist(), strict=True):
                for byte in range(size):
                    self._bytes[address + byte].append(_Version(word >> 8 * byte & 0xFF, sm, warp, cycle))
        self._indexed = len(self._log)
