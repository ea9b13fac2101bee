"""The interface between paths and a cost model (:class:`sim.analysis.bound.pipeline.Pipeline`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ..code.decoding import Decoded

__all__ = ["Access", "Clock"]


@dataclass(frozen=True)
class Access:
    """The lines that a load or store accesses.

    - ``lines``: the line numbers; None if they are unknown. ``most``: the most lines that it can access.
    - ``turns``: the most cycles that it can take in local memory.
    - ``within``: the first and last possible line, if ``lines`` is None and a range is known.
    - ``certain``: the subset of ``lines`` that is accessed whichever lanes are active.
    """

    lines: tuple[int, ...] | None
    most: int
    turns: int
    within: tuple[int, int] | None = None
    certain: frozenset[int] = frozenset()


class Clock(Protocol):
    """The cost counted along a path. When a path forks, its clock is copied; when paths join, their clocks join."""

    def copy(self) -> Clock:
        """Return an independent copy for another path."""

    def join(self, other: Clock) -> None:
        """Make the cost an upper bound of both paths."""

    def issue(self, pc: int, code: Decoded, following: int, access: Access | None) -> None:
        """Count an instruction after which the path continues at ``following`` (-1: the warp waits or ends)."""

    def start(self, pc: int) -> None:
        """Count the start of the warp at ``pc``."""

    def resume(self, before: Clock, pc: int) -> None:
        """Continue a warp at ``pc`` whose cost so far is in ``before``; nothing of its SM is under way."""

    @staticmethod
    def meet(clocks: Iterable[Clock], active: int | None) -> None:
        """Count a synchronization point that the warps of these clocks leave together.

        ``active``: the most warps that are active from now on; None if that does not change.
        """
