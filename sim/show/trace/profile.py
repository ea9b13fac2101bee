"""Cycles of the measured region by use: every cycle is charged to one instruction of one warp, with a reason.

With several schedulers, every partition charges each cycle, so what is counted are issue slots. docs/looking.md
("Cycles by source line") has the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason

from ...machine.events import NONE
from .cycles import Cause, Cycles

__all__ = ["ISSUED", "USES", "Cell", "Profile", "use_of"]

_CAUSES = [cause for cause in Cause if cause]
#: Uses of a cycle, in this order: an issue, a NOP by its cause, or nothing by its reason.
USES = (
    "issued", *(f"nop_{cause.name.lower()}" for cause in _CAUSES), *(each.name.lower() for each in StallReason if each),
)
ISSUED = 0
_NOP, _STALL = 1, 1 + len(_CAUSES)
_REDIRECT = _NOP + Cause.REDIRECT - 1


class Cell(NamedTuple):
    """A number of cycles of the region. ``warp``, ``pc``: NONE if the cycles cannot be charged to one."""

    warp: int
    pc: int
    use: str
    cycles: int


def use_of(cycles: Cycles) -> np.ndarray:
    """Return the use of each cycle as an index into :data:`USES`; NONE before anything has started."""
    events = cycles.events
    nothing = np.where(events["stall"] != 0, _STALL + events["stall"] - 1, NONE)
    selected = np.where(events["nop"] != 0, _NOP + cycles.cause - 1, ISSUED)
    return np.where(events["selected"] != NONE, selected, nothing)


class Profile:
    """A sink of cycles that counts them (:class:`sim.show.trace.cycles.Sink`). It keeps one number for each cell."""

    def __init__(self, config: SmConfig) -> None:
        self.warps = config.warps
        #: The number of partitions.
        self.schedulers = config.schedulers

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        #: Place 0 has cycles charged to no instruction; the last warp has cycles charged to no warp.
        self._places = {NONE: 0}
        self._counts = np.zeros((self.warps + 1, 64, len(USES)), np.int64)
        #: For each warp: the cycles to charge to its next instruction; its last instruction, and when it was issued.
        self._waiting = np.zeros((self.warps, len(USES)), np.int64)
        self._last_pc = np.full(self.warps, NONE)
        self._last_cycle = np.full(self.warps, NONE)

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        for cycles in partitions:
            self._take(cycles)

    def _take(self, cycles: Cycles) -> None:
        events = cycles.events
        at = np.arange(len(cycles))
        executed = {warp: np.flatnonzero((events["selected"] == warp) & (cycles.pc != NONE)) for warp in cycles.warps}
        counted = np.flatnonzero(events["region"])
        use = use_of(cycles)
        warps = np.where(events["selected"] != NONE, events["selected"], self._blamed(events, executed))
        for warp in [NONE, *cycles.warps]:
            mine = counted[warps[counted] == warp]
            if warp == NONE:
                self._add(warp, np.full(len(mine), NONE), use[mine])
                continue
            its = executed[warp]
            issued, redirected = use[mine] == ISSUED, use[mine] == _REDIRECT
            # An issue is charged to itself, a NOP after a jump to the jump; all other cycles to the next instruction.
            self._add(warp, cycles.pc[mine[issued]], use[mine[issued]])
            before = np.searchsorted(its, mine[redirected]) - 1
            pcs = cycles.pc[its[np.maximum(before, 0)]] if len(its) else np.full(len(before), NONE)
            self._add(warp, np.where(before < 0, self._last_pc[warp], pcs), use[mine[redirected]])
            waits = mine[~issued & ~redirected]
            next_one = np.searchsorted(its, at[waits], side="right")
            if len(its):
                self._come(warp, int(cycles.pc[its[0]]))
                comes = next_one < len(its)
                self._add(warp, cycles.pc[its[next_one[comes]]], use[waits[comes]])
                waits = waits[~comes]
                self._last_pc[warp], self._last_cycle[warp] = cycles.pc[its[-1]], events["cycle"][its[-1]]
            self._waiting[warp] += np.bincount(use[waits], minlength=len(USES))

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        for warp in range(self.warps):
            self._come(warp, NONE)

    def cells(self) -> Iterator[Cell]:
        """Return every count that is not 0, by warp, pc and use; NONE comes last."""
        pcs = sorted(self._places, key=lambda pc: (pc == NONE, pc))
        for warp in range(self.warps + 1):
            for pc in pcs:
                for use, count in zip(USES, self._counts[warp, self._places[pc]].tolist(), strict=True):
                    if count:
                        yield Cell(warp if warp < self.warps else NONE, pc, use, count)

    def _blamed(self, events: np.ndarray, executed: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the warp charged with each cycle without an issue: the one that has waited longest for its reason.

        NONE if no warp waits for it. ``executed``: for each warp of the partition, when it issues.
        """
        blamed = np.full(len(events), NONE)
        at = np.flatnonzero((events["stall"] != 0) & (events["region"] != 0) & (events["selected"] == NONE))
        if not len(at):
            return blamed
        numbers = np.array([*executed])
        reasons, stall = events["reason"][at[:, None], numbers], events["stall"][at, None]
        active = events["active"][at, None] >> numbers & 1 != 0
        eligible = events["eligible"][at, None] >> numbers & 1 != 0
        waits = np.where(stall == StallReason.POLICY, eligible, active & (reasons == stall))
        since = np.empty((len(at), len(numbers)), np.int64)
        for place, (warp, its) in enumerate(executed.items()):
            before = np.searchsorted(its, at) - 1
            cycles = events["cycle"][its[np.maximum(before, 0)]] if len(its) else np.zeros(len(at), np.int64)
            since[:, place] = np.where(before < 0, self._last_cycle[warp], cycles)
        longest = numbers[np.where(waits, since, np.iinfo(np.int64).max).argmin(axis=1)]
        blamed[at] = np.where(waits.any(axis=1), longest, NONE)
        return blamed

    def _come(self, warp: int, pc: int) -> None:
        """Charge the cycles that the warp has waited to the instruction for which it waited."""
        if self._waiting[warp].any():
            self._counts[warp, self._place(pc)] += self._waiting[warp]
            self._waiting[warp] = 0

    def _add(self, warp: int, pcs: np.ndarray, uses: np.ndarray) -> None:
        values, which = np.unique(pcs, return_inverse=True)
        places = np.array([self._place(pc) for pc in values.tolist()], np.int64)
        if len(values):
            np.add.at(self._counts[warp], (places[which], uses), 1)

    def _place(self, pc: int) -> int:
        place = self._places.setdefault(pc, len(self._places))
        if place == self._counts.shape[1]:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        return place
