"""The SM's counters once more, in Python, from the events of every cycle (RunRequest(trace=True)).

Of all but the two of the oracles (:func:`tests.system.oracles.oracle_differences`) and those of whole runs. A
warp's state in a cycle is that of :func:`tests.system.statistics_recount.warp_states`.
"""

from collections import Counter
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason
from tests.hdl.sm_checks import is_control, predicted_offset
from tests.system.statistics_recount import warp_states

__all__ = ["counter_recount"]

JAL, BRANCHES, LOADS = 0x6F, (0x62, 0x63), (0x03, 0x07)


def stall(states: list[Any]) -> StallReason:
    """Why nothing was selected, from the states of all warps."""
    if "not_selected" in states:
        return StallReason.POLICY
    return min((state for state in states if isinstance(state, StallReason)), default=StallReason.IDLE)


def goes_elsewhere(config: SmConfig, instruction: int, warp: int, resolution: dict[str, int] | None) -> bool:
    """Whether an instruction is taken. ``resolution``: the front end's cycle in which its control flow resolves."""
    if not is_control(instruction, config.prediction):
        # Without prediction every jal is control flow; with it a jal is followed at decode.
        return instruction & 0x7F == JAL
    if resolution is None or not resolution["resolve"] or resolution["resolve_warp"] != warp:
        return False
    if instruction & 0x7F in BRANCHES:
        return bool(resolution["redirect"]) != (predicted_offset(instruction, config.prediction) is not None)
    # The end of a warp is no branch.
    return bool(resolution["redirect"] and resolution["active"] >> warp & 1)


def counter_recount(config: SmConfig, events: np.ndarray) -> dict[str, int | dict[str, int]]:
    """The counters by name; ``stalls`` by reason. The last record, of the cycle of the end, is not counted."""
    events = events[:-1]
    counts: Counter[str] = Counter()
    stalls: Counter[StallReason] = Counter()
    cycles = list(warp_states(config, events))
    for cycle, (row, states) in enumerate(cycles):
        if not row["region"]:
            continue
        counts.update(cycles=1, icache_misses=row["miss"],
                      load_wait_cycles=sum(state is StallReason.LOAD for state in states))
        if not row["select"]:
            stalls[StallReason.IDLE if row["halt"] else stall(states)] += 1
        elif row["select_nop"]:
            counts["nops"] += 1
        else:
            resolution = cycle + config.resolve_latency
            resolves = cycles[resolution][0] if resolution < len(cycles) else None
            issue, instruction = events["issue"][min(cycle + config.issue_latency, len(events) - 1)], row["issued"]
            counts.update(
                committed=1, loads=instruction & 0x7F in LOADS, committed_threads=int(issue["mask"]).bit_count(),
                taken_branches=goes_elsewhere(config, instruction, row["select_warp"], resolves),
            )
    names = ("cycles", "committed", "committed_threads", "nops", "icache_misses", "taken_branches", "loads",
             "load_wait_cycles")
    return {**{name: counts[name] for name in names}, "stalls": {its.name.lower(): stalls[its] for its in StallReason}}
