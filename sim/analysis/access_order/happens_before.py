"""Order of accesses that holds in every schedule: races between warps, and the limits of the measured region."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metronome.hdl.config import SmConfig

from ...run.memcheck.order import Order
from ...run.memcheck.shadow import Cells
from ..code.refusals import RefusedError

__all__ = ["HappensBefore"]


class HappensBefore:
    """Tracks the synchronization of the warps in a run: barriers, starts and ends.

    It refuses races, and accesses that may lie inside or outside the region.
    """

    def __init__(self, config: SmConfig) -> None:
        self._order = Order(config.warps)
        self._cells = Cells(config.warps)
        # Below this address are the console and the counters, for which races do not matter.
        self._io_end = config.memory_map.user
        #: The number of times that the region began or ended, and how many of these come before each warp.
        self._turns = 0
        self._known = np.zeros(config.warps, np.int64)
        #: The last access of each warp, now and when the region last began or ended.
        self._last = np.zeros(config.warps, np.int64)
        self._frozen = self._last.copy()

    @property
    def in_region(self) -> bool:
        """Whether the region is open."""
        return bool(self._turns & 1)

    @property
    def regions(self) -> int:
        """How often the region has begun."""
        return (self._turns + 1) // 2

    def meet(self, warps: Sequence[int], others: Sequence[int] = ()) -> None:
        """Order ``warps`` after everything that they and ``others`` have done."""
        self._order.meet(list(warps), list(others))
        self._known[list(warps)] = self._known[[*warps, *others]].max()

    def mark(self, warp: int) -> int:
        """Return a mark of the current position of ``warp``, for :meth:`after_one`."""
        return self._order.note(warp, 0, 0, leaves=False)

    def after_one(self, warp: int, marks: Sequence[int]) -> bool:
        """Return whether ``warp`` comes after one of the ``marks`` in every run."""
        return not bool(self._order.unordered(warp, np.array(marks)).all())

    def region(self, warp: int, value: int, pc: int) -> bool:
        """Begin (1) or end (0) the region in ``warp``; return whether the warp is the first to do so.

        All earlier accesses must be ordered before this.
        """
        first = bool(value) != self.in_region
        if not first and not self._turns:
            return False
        if first:
            self._turns += 1
            self._frozen = self._last.copy()
        if self._order.unordered(warp, self._frozen).any():
            other = self._order.of(int(self._frozen[self._order.unordered(warp, self._frozen).argmax()]))
            what = "begins" if value else "ends"
            raise RefusedError(
                f"the region {what} while warp {other[0]} loads or stores: the accesses in the region depend on the "
                "schedule", pc
            )
        self._known[warp] = self._turns
        return first

    def access(self, warp: int, pc: int, addresses: np.ndarray, size: int, store: bool) -> None:
        """Check a load or store of ``size`` bytes at ``addresses``, in global or local memory.

        Raises
        ------
        RefusedError
            If another warp's access to the same bytes may come before or after it.
        """
        if self._known[warp] != self._turns:
            raise RefusedError("whether it lies in the measured region depends on the schedule", pc)
        order = self._order
        places = addresses[addresses >= self._io_end]
        if not len(places):
            self._last[warp] = order.note(warp, pc, 0, leaves=False)
            return
        known = self._cells
        cells, each = known.of(places, size)
        writers = known.writes.take(cells)
        self._refuse(warp, pc, np.repeat(places, each), writers, store, "stores")
        if store:
            self._refuse(warp, pc, np.repeat(places, each), known.reads.take(cells, axis=0), store, "loads")
        number = order.note(warp, pc, 0, leaves=False)
        self._last[warp] = number
        if store:
            known.writes[cells] = number
        else:
            known.reads[cells, warp] = number

    def _refuse(self, warp: int, pc: int, places: np.ndarray, numbers: np.ndarray, store: bool, verb: str) -> None:
        """Refuse a race with earlier accesses; ``numbers``: one, or a row of them, for each of ``places``."""
        races = self._order.unordered(warp, numbers)
        if not races.any():
            return
        at = int(races.argmax())
        other, place, _ = self._order.of(int(numbers.reshape(-1)[at]))
        address = int(places[at // (numbers.size // len(places))])
        raise RefusedError(
            f"warps race: warp {warp} {'stores' if store else 'loads'} {address:#x}, warp {other} {verb} it at "
            f"{place:#010x}, and only the schedule decides which comes first", pc
        )
