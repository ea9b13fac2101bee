"""The warps that meet at each barrier. A program is refused if the schedule decides which warps meet."""

from __future__ import annotations

from ..code.refusals import RefusedError
from .happens_before import HappensBefore

__all__ = ["Barriers"]


class Barriers:
    """The warps that wait at each barrier, and those that last met there.

    A warp that arrives must come after the last meeting in every run: it took part in that meeting, or is ordered after
    a warp that did. Otherwise, it could have been part of the last meeting.
    """

    def __init__(self, order: HappensBefore) -> None:
        self._order = order
        self._waiting: dict[int, list[int]] = {}
        self._counts: dict[int, int] = {}
        #: For each barrier, a mark of each warp that last met there, made after the meeting.
        self._met: dict[int, list[int]] = {}

    def arrive(self, warp: int, barrier: int, count: int, pc: int) -> list[int]:
        """Let ``warp`` wait at ``barrier`` for ``count`` warps in all; return the warps that meet, if any.

        Raises
        ------
        RefusedError
            If the schedule decides which warps meet.
        """
        if count == 1:
            return []
        met = self._met.get(barrier)
        if met is not None and not self._order.after_one(warp, met):
            raise RefusedError(f"which warps meet warp {warp} at its barrier depends on the schedule", pc)
        waiting = self._waiting.setdefault(barrier, [])
        if waiting and self._counts[barrier] != count:
            raise RefusedError(f"warps wait at the same barrier for {self._counts[barrier]} and for {count} warps", pc)
        self._counts[barrier] = count
        waiting.append(warp)
        if len(waiting) < count:
            return []
        return self._waiting.pop(barrier)

    def met(self, barrier: int, warps: list[int]) -> None:
        """Record that ``warps`` have met."""
        self._met[barrier] = [self._order.mark(warp) for warp in warps]
