"""When a warp has its turn under strict round robin, and when a load finds the port of the registers free then.

Every cycle belongs to one active warp. Others may issue in each of theirs, and write in a cycle each. So a load's
result may wait for a cycle in which nobody writes: that is for certain 3 cycles behind a turn of its own warp in which
that has issued nothing that writes (docs/wcet.md, "Other policies").
"""

from __future__ import annotations

from .costs import SHORTEST

__all__ = ["Turns"]

#: The port is free so many cycles behind a turn that is not used, and what depends on a load is issued one later.
_FREE = SHORTEST
_BEHIND = 1


class Turns:
    """The turns of one warp, along a path. ``active``: of so many warps each has one, at most."""

    def __init__(self) -> None:
        self.active = 1
        #: The last turn that was taken, and the last of which it is certain that nothing was written behind it.
        self.last = -1
        self._unused = -1

    def copy(self) -> Turns:
        """The same on another path."""
        twin = Turns()
        twin.active, twin.last, twin._unused = self.active, self.last, self._unused
        return twin

    def join(self, other: Turns) -> int:
        """The path is this one or the ``other``; returns how much later the next turn may be, since they differ."""
        missed = 0 if self.last == other.last else self.active - 1
        self.last, self._unused = max(self.last, other.last), min(self._unused, other._unused)
        return missed

    def _after(self, cycle: int, gap: int) -> int:
        """The first turn that is ``gap`` cycles or more behind one in ``cycle``, for any number of active warps."""
        return cycle + max(-(-gap // active) * active for active in range(1, self.active + 1))

    def take(self, time: int, load: int | None, *, writes: bool) -> int:
        """The turn of the next instruction, no sooner than ``time``; it depends on a ``load`` that is there then."""
        turn = self._after(self.last, time - self.last)
        if load is not None:
            # The result is at the port in the cycle before.
            turn = self._behind_load(turn, load - 1)
        if turn - self.last >= 2 * self.active:
            self._unused = max(self._unused, turn - self.active)
        if not writes:
            self._unused = turn
        self.last = turn
        return turn

    def _behind_load(self, turn: int, port: int) -> int:
        if port <= self._unused + _FREE:
            return self._after(turn, port + _BEHIND - turn) if port >= turn else turn
        # From ``turn`` on the warp waits: the first such turn behind which the result can be written.
        waits = turn if turn + _FREE >= port else self._after(turn, port - _FREE - turn)
        return self._after(waits, _FREE + _BEHIND)

    def pause(self, cycle: int) -> None:
        """The turns until ``cycle``, in which one is, were of NOPs."""
        self.last = self._unused = cycle

    def anew(self) -> None:
        """Nothing is known of what was before cycle 0."""
        self.last, self._unused = -1, -1
