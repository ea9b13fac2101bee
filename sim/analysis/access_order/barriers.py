"""Who meets whom at the barriers; a program is refused if the schedule decides that."""

from __future__ import annotations

from ..code.refusals import RefusedError
from .happens_before import HappensBefore

__all__ = ["Barriers"]


class Barriers:
    """By barrier: the warps that wait, and those that met there last.

    Whoever comes for the next meeting has to come behind the last one in every run: it met there, too, or is behind
    somebody who did. Else it could have been among them.
    """

    def __init__(self, order: HappensBefore) -> None:
        self._order = order
        self._waiting: dict[int, list[int]] = {}
        self._counts: dict[int, int] = {}
        #: A mark of each of those who have met, behind the meeting.
        self._met: dict[int, list[int]] = {}

    def arrive(self, warp: int, barrier: int, count: int, pc: int) -> list[int]:
        """``warp`` waits at ``barrier`` for ``count`` warps in all. Returns those that go on, none or all of them.

        Raises
        ------
        RefusedError
            If the schedule decides who they are.
        """
        if count == 1:
            return []
        met = self._met.get(barrier)
        if met is not None and not self._order.behind_one(warp, met):
            raise RefusedError(f"the schedule decides with whom warp {warp} meets at its barrier", pc)
        waiting = self._waiting.setdefault(barrier, [])
        if waiting and self._counts[barrier] != count:
            raise RefusedError(f"warps wait at one barrier for {self._counts[barrier]} and for {count} warps", pc)
        self._counts[barrier] = count
        waiting.append(warp)
        if len(waiting) < count:
            return []
        return self._waiting.pop(barrier)

    def met(self, barrier: int, warps: list[int]) -> None:
        """``warps`` have met."""
        self._met[barrier] = [self._order.mark(warp) for warp in warps]
