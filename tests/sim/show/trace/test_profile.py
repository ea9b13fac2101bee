"""Whom each cycle is laid to, worked out by hand from the rules of docs/looking.md."""

import numpy as np
import pytest

from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.presets import TINY
from metronome.sim.machine.events import EVENT, NONE
from metronome.sim.show.trace.cycles import Cause, Cycles, nothing_before
from metronome.sim.show.trace.profile import Profile

CODE = 0x80000000
LOAD, BARRIER, IDLE, POLICY = StallReason.LOAD, StallReason.BARRIER, StallReason.IDLE, StallReason.POLICY


def issue(warp, number, **more):
    return {"selected": warp, "pc": CODE + 4 * number} | more


def nop(warp, cause):
    return {"selected": warp, "nop": 1, "cause": cause}


def nobody(stall, *reasons, eligible=0, active=3):
    return {"stall": stall, "reason": reasons, "active": active, "eligible": eligible}


def cells_of(rows, size):
    events = np.concatenate([nothing_before(np.zeros(0, EVENT)) for _ in rows])
    own = {name: np.full(len(rows), NONE) for name in ("pc", "missed")} | {"cause": np.zeros(len(rows), int)}
    for number, row in enumerate(rows):
        events["cycle"][number], events["region"][number] = number, row.get("region", 1)
        for name, value in row.items():
            if name in own:
                own[name][number] = value
            elif name == "reason":
                events["reason"][number, : len(value)] = value
            elif name != "region":
                events[name][number] = value
    profile = Profile(TINY)
    profile.begin()
    for first in range(0, len(rows), size):
        at = slice(first, first + size)
        profile.take([Cycles(
            warps=range(TINY.warps), events=events[at], before=nothing_before(events),
            word=np.zeros(len(events[at]), int), lanes=np.zeros(len(events[at]), int),
            **{name: values[at] for name, values in own.items()},
        )])
    profile.finish()
    return {
        (cell.warp, NONE if cell.pc == NONE else (cell.pc - CODE) // 4, cell.use): cell.cycles
        for cell in profile.cells()
    }


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(("rows", "expected"), [
    # An issue is its own, and outside of the region nothing counts.
    ([issue(0, 1), issue(1, 2), issue(0, 1), issue(0, 3, region=0)], {(0, 1, "issued"): 2, (1, 2, "issued"): 1}),
    # A NOP behind a jump is the jump's, one of a miss that of the instruction that has missed.
    ([issue(0, 1), nop(0, Cause.REDIRECT), issue(1, 9), nop(0, Cause.MISS), nop(0, Cause.MISS), issue(0, 5)],
     {(0, 1, "issued"): 1, (0, 1, "nop_redirect"): 1, (1, 9, "issued"): 1, (0, 5, "nop_miss"): 2, (0, 5, "issued"): 1}),
    # The jump may be long ago, and outside of the region.
    ([issue(0, 1, region=0), issue(1, 2), issue(1, 2), issue(1, 2), nop(0, Cause.REDIRECT)],
     {(1, 2, "issued"): 3, (0, 1, "nop_redirect"): 1}),
    # What waits is the next instruction of the warp that waits for this reason the longest.
    ([issue(1, 1), issue(0, 2), nobody(LOAD, LOAD, LOAD), nobody(LOAD, LOAD, BARRIER), issue(0, 3), issue(1, 4)],
     {(1, 1, "issued"): 1, (0, 2, "issued"): 1, (1, 4, "load"): 1, (0, 3, "load"): 1, (0, 3, "issued"): 1,
      (1, 4, "issued"): 1}),
    # A warp that is not active waits for nothing.
    ([issue(1, 1), issue(0, 2), nobody(LOAD, LOAD, LOAD, active=1), issue(0, 3)],
     {(1, 1, "issued"): 1, (0, 2, "issued"): 1, (0, 3, "load"): 1, (0, 3, "issued"): 1}),
    # The policy lets a warp wait that is eligible; if no warp is active nobody waits.
    ([nobody(POLICY, LOAD, 0, eligible=2), nobody(IDLE, active=0), issue(1, 7)],
     {(1, 7, "policy"): 1, (NONE, NONE, "idle"): 1, (1, 7, "issued"): 1}),
    # What was waited for has never come.
    ([issue(0, 1), nobody(BARRIER, BARRIER, BARRIER), nop(0, Cause.START)],
     {(0, 1, "issued"): 1, (1, NONE, "barrier"): 1, (0, NONE, "nop_start"): 1}),
    # Issued, and the run was over before it was executed.
    ([{"selected": 0}], {(0, NONE, "issued"): 1}),
])
def test_whom_a_cycle_is_laid_to(rows, expected, size):
    assert cells_of(rows, size) == expected


def test_many_instructions_have_room():
    rows = [issue(0, number) for number in range(1000)]
    assert cells_of(rows, 300) == {(0, number, "issued"): 1 for number in range(1000)}
