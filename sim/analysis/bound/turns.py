"""Turns of a warp under strict round robin, and the cycles in which a load can use the registers' port.

Every cycle belongs to one active warp, so a warp's turns are as many cycles apart as there are active warps. A wait
that begins at a turn ends at a later turn. The number of active warps is unknown, so the latest possible turn counts.

Other warps may issue in each of their turns, and each result uses the port for a cycle. So a load's result may wait for
a free cycle. The port is certainly free ``shortest`` cycles after a turn in which the load's own warp issued nothing
that writes then (docs/wcet.md, "Other policies").
"""

from __future__ import annotations

from typing import NamedTuple

from ..code.costs import Cost

__all__ = ["Turns"]

#: A dependent of a load issues this many cycles after the load has had the port.
_BEHIND = 1


class _Load(NamedTuple):
    """For each number of active warps, the first turn at which a load may be ``there`` and the first ``useful`` turn.

    The port is free after any unused turn from the useful one on. ``writers``: the turns after the load in which its
    warp issues an instruction that writes.
    """

    there: tuple[int, ...]
    useful: tuple[int, ...]
    writers: int


class Turns:
    """The turns of one warp along a path. ``active``: the most warps that take turns.

    ``shortest``: the fewest cycles from an instruction to its write (:func:`shortest_write`). The port is free this
    many cycles after an unused turn.
    """

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self.active = 1
        self._loads: dict[int, _Load] = {}

    def begin(self, active: int) -> None:
        """Set the highest number of active warps from now on."""
        more = active - self.active
        self._loads = {
            register: each._replace(
                there=each.there + (max(each.there) + active,) * more,
                useful=each.useful + (max(each.useful) + active,) * more,
            )
            for register, each in self._loads.items()
        }
        self.active = active

    def clear(self) -> None:
        """Record that no load is in flight."""
        self._loads.clear()

    def copy(self) -> Turns:
        """Return an independent copy."""
        twin = Turns(self._shortest)
        twin.active, twin._loads = self.active, dict(self._loads)
        return twin

    def join(self, other: Turns) -> None:
        """Keep the later turns of both paths."""
        for register, theirs in other._loads.items():
            mine = self._loads.get(register)
            if mine is not None:
                theirs = _Load(
                    tuple(map(max, mine.there, theirs.there)), tuple(map(max, mine.useful, theirs.useful)),
                    max(mine.writers, theirs.writers),
                )
            self._loads[register] = theirs

    def after(self, gap: int) -> int:
        """Return the distance from a turn to the first turn at least ``gap`` cycles later."""
        return max(_multiple(gap, active) for active in range(1, self.active + 1))

    def later(self, ready: int) -> int:
        """Return the latest possible cycle of the first turn from ``ready`` on."""
        return ready + self.active - 1

    def issue(self, cost: Cost) -> None:
        """Record the issue of an instruction."""
        if cost.slot and cost.written == self._shortest:
            self._loads = {register: each._replace(writers=each.writers + 1) for register, each in self._loads.items()}
        if cost.writes is not None:
            self._loads.pop(cost.writes, None)

    def load(self, register: int, turn: int, ready: int, *, own: bool) -> None:
        """Record a load issued at ``turn``, whose dependent can issue at ``ready``; ``own``: by its latency alone."""
        numbers = range(1, self.active + 1)
        # The result is at the port one cycle before; a useful turn is this much earlier.
        gaps = ready - turn, max(1, ready - turn - _BEHIND - self._shortest)
        there, useful = (
            tuple(turn + (_multiple(gap, active) if own else gap + active - 1) for active in numbers) for gap in gaps
        )
        self._loads[register] = _Load(there, useful, 0)

    def take(self, registers: list[int], time: int) -> int:
        """Return the turn of an instruction that needs loaded ``registers``, and is otherwise ready at ``time``."""
        loads = [self._loads.pop(register) for register in registers if register in self._loads]
        turn = time
        for each in loads:
            for active, (there, useful) in enumerate(zip(each.there, each.useful, strict=True), 1):
                first = max(time, there)
                # The unused turn comes after those of the writers, or is the first turn of the wait.
                free = min(first, useful + each.writers * active)
                turn = max(turn, first, free + _multiple(self._shortest + _BEHIND, active))
        return turn


def _multiple(gap: int, active: int) -> int:
    return -(-gap // active) * active
