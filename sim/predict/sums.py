"""Counters and statistics of a prediction, in the form of a run's result."""

from __future__ import annotations

from typing import Any

import numpy as np

from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.layouts.counters import COUNTERS, Counter, StallReason, counter_places
from metronome.hdl.layouts.waits import LookupWait

from ..machine.engines import CannotPredictError
from ..machine.golden import Fault
from ..machine.memory.store import SparseMemory
from ..machine.statistics import REASONS, LineAccesses, LoadLatency, RegionStatistics, WarpCycles
from ..run.hanging import hanging_warps
from ..run.types import WarpState
from .model.observer import COUNTED, INACTIVE, INSTRUCTION, NOP

__all__ = ["counters", "fault", "hang", "read_counter", "region", "status"]

_LINES = ("instructions", "accesses", "uncached", "hits", "merges", "forwards", "misses")
#: The oracles see the same sets as the scheduler: in swas no buffer is ever empty.
_ORACLES = ("discrepancies", "errors")
# Without this check, a misspelled counter would silently be "not predicted".
if _unknown := set(COUNTED) - {counter.name for counter in COUNTERS}:
    raise ValueError("sim/predict/model/observer.py: COUNTED has names that are not in hdl/layouts/counters.py: "
                     + ", ".join(sorted(_unknown)))


def counters(sums: np.void) -> dict[str, Any]:
    """Return the counters of a run by name; None for a counter that the model does not have."""
    values: dict[str, Any] = {}
    for counter in COUNTERS:
        if counter.name in _ORACLES:
            values[counter.name] = 0
        elif not _has(sums, counter):
            values[counter.name] = None
        elif counter.by_reason:
            values[counter.name] = {reason.name.lower(): int(sums[counter.name][reason]) for reason in StallReason}
        else:
            values[counter.name] = int(sums[counter.name])
    return values


def _has(sums: np.void, counter: Counter) -> bool:
    return counter.name in (sums.dtype.names or ())


def read_counter(sums: np.void, number: int, mcycle: int, minstret: int, *, research: bool = True) -> int:
    """Return the value of CSR ``number``: the low or high half of mcycle, minstret or a performance counter.

    Without ``research`` counters, those read 0.

    Raises
    ------
    CannotPredictError
        If the model of the machine does not have the counter.
    """
    low = number & ~0x80
    value = 0
    if low in (0xB00, 0xB02):
        value = mcycle if low == 0xB00 else minstret
    elif research:
        for counter, reason in counter_places():
            if counter.name in _ORACLES or (low, reason) not in counter.numbers():
                continue
            if not _has(sums, counter):
                raise CannotPredictError(
                    f"it reads CSR {low:#x}, the counter {counter.name}, which sim/predict/model does not have"
                )
            value = int(sums[counter.name][reason] if counter.by_reason else sums[counter.name])
    return value >> 32 & 0xFFFF_FFFF if number & 0x80 else value & 0xFFFF_FFFF


def region(config: SmConfig, sums: np.void) -> RegionStatistics:
    """Return the statistics of the measured region."""

    def lines(counted: np.ndarray) -> LineAccesses:
        return LineAccesses(**dict(zip(_LINES, counted.tolist(), strict=True)))

    def warp(states: np.ndarray) -> WarpCycles:
        return WarpCycles(
            instructions=int(states[INSTRUCTION]), nops=int(states[NOP]), not_selected=int(states[0]),
            inactive=int(states[INACTIVE]), stalls={reason: int(states[reason]) for reason in REASONS},
        )

    return RegionStatistics(
        loads=lines(sums["load_lines"]), stores=lines(sums["store_lines"]),
        waits={reason: int(sums["waits"][reason]) for reason in LookupWait if reason is not LookupWait.NONE},
        load_latency=LoadLatency(
            total=int(sums["latency_sum"]), maximum=int(sums["latency_maximum"]),
            histogram=tuple(sums["latencies"].tolist()),
        ),
        warps=tuple(warp(sums["states"][w]) for w in range(config.warps)),
    )


def fault(whole: np.void) -> Fault | None:
    """Return the fault that stopped the machine, or None."""
    if not whole["faulty"]:
        return None
    return Fault(
        FaultCause(int(whole["fault_cause"])), int(whole["fault_warp"]), int(whole["fault_pc"]),
        int(whole["fault_address"]),
    )


def status(sums: np.void, stopped: Fault | None) -> str:
    """Return how the program ended, as the ``status`` of :class:`sim.run.types.RunResult`."""
    if stopped is not None:
        return "fault"
    return "ended" if sums["ended"] else "deadlock" if sums["deadlock"] else "hang"


def hang(config: SmConfig, memory: SparseMemory, sums: np.void, whole: np.void, policy: str) -> list[WarpState]:
    """Return the state of each warp in the last cycle."""
    return hanging_warps(
        config, memory, active=int(whole["active"]), reasons=sums["reason"].tolist(), pcs=sums["last_pc"].tolist(),
        starved={"issue": (policy, int(sums["starved_long"]))}, deadlock=bool(sums["deadlock"]), waits={},
    )
