"""When a warp has its turn under strict round robin, and when a load finds the port of the registers free then.

Every cycle belongs to one active warp. A warp's turns are as many cycles apart as warps are active, so what it waits
for from one of its turns on is over at the first multiple of that. How many are active is not known, so the latest
counts. Others may issue in each of their turns, and write in a cycle each. So a load's result may wait for a cycle in
which nobody writes: that is for certain 3 cycles behind a turn of its own warp in which that has issued nothing that
writes then (docs/wcet.md, "Other policies").
"""

from __future__ import annotations

from typing import NamedTuple

from ..code.costs import SHORTEST, Cost

__all__ = ["Turns"]

#: The port is free so many cycles behind a turn that is not used, and what depends on a load is issued one later.
_FREE = SHORTEST
_BEHIND = 1


class _Load(NamedTuple):
    """By the number of active warps: the first turn in which a load may be ``there``, and the first ``useful`` one.

    If a turn from that on is not used, the port is free behind it. ``writers``: in so many turns behind the load its
    warp issues what writes before that.
    """

    there: tuple[int, ...]
    useful: tuple[int, ...]
    writers: int


class Turns:
    """The turns of one warp, along a path. ``active``: of so many warps each has one, at most."""

    def __init__(self) -> None:
        self.active = 1
        self._loads: dict[int, _Load] = {}

    def begin(self, active: int) -> None:
        """From now on so many warps are active, at most."""
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
        """Nothing that was loaded is under way."""
        self._loads.clear()

    def copy(self) -> Turns:
        """The same on another path."""
        twin = Turns()
        twin.active, twin._loads = self.active, dict(self._loads)
        return twin

    def join(self, other: Turns) -> None:
        """The path is this one or the ``other``."""
        for register, theirs in other._loads.items():
            mine = self._loads.get(register)
            if mine is not None:
                theirs = _Load(
                    tuple(map(max, mine.there, theirs.there)), tuple(map(max, mine.useful, theirs.useful)),
                    max(mine.writers, theirs.writers),
                )
            self._loads[register] = theirs

    def after(self, gap: int) -> int:
        """How far behind a turn the first one is that is ``gap`` cycles or more behind it."""
        return max(_multiple(gap, active) for active in range(1, self.active + 1))

    def later(self, ready: int) -> int:
        """No later than this is the first turn from ``ready`` on, whichever that is."""
        return ready + self.active - 1

    def issue(self, cost: Cost) -> None:
        """An instruction is issued."""
        if cost.slot and cost.result == SHORTEST:
            self._loads = {register: each._replace(writers=each.writers + 1) for register, each in self._loads.items()}
        if cost.writes is not None:
            self._loads.pop(cost.writes, None)

    def load(self, register: int, turn: int, ready: int, *, own: bool) -> None:
        """A load was issued in a ``turn``; what depends on it can be in ``ready``, which its ``own`` latency says."""
        numbers = range(1, self.active + 1)
        # The result is at the port in the cycle before; a turn that is useful then is so much earlier.
        gaps = ready - turn, max(1, ready - turn - _BEHIND - _FREE)
        there, useful = (
            tuple(turn + (_multiple(gap, active) if own else gap + active - 1) for active in numbers) for gap in gaps
        )
        self._loads[register] = _Load(there, useful, 0)

    def take(self, registers: list[int], time: int) -> int:
        """The turn of an instruction that needs what was loaded to ``registers``, and else could be at ``time``."""
        loads = [self._loads.pop(register) for register in registers if register in self._loads]
        turn = time
        for each in loads:
            for active, (there, useful) in enumerate(zip(each.there, each.useful, strict=True), 1):
                first = max(time, there)
                # Either a turn was not used before, behind those of what writes, or the first one of the wait is.
                free = min(first, useful + each.writers * active)
                turn = max(turn, first, free + _multiple(_FREE + _BEHIND, active))
        return turn


def _multiple(gap: int, active: int) -> int:
    return -(-gap // active) * active
