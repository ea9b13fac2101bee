"""Python's side of tb/statistics.cpp: the sums of a region, read when its program has stopped."""

from __future__ import annotations

import ctypes

from hdl.config import SmConfig
from hdl.layouts.probe import LookupWait
from sim.statistics import REASONS, LineAccesses, LoadLatency, RegionStatistics, WarpCycles

__all__ = ["read_statistics"]

_WARPS, _WAITS, _BINS, _STATES = 64, 8, 64, 16
#: A warp's cycles by stall reason; these have none.
_NOT_SELECTED, _INSTRUCTION, _NOP, _INACTIVE = 0, 12, 13, 14


class _Accesses(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("instructions", "accesses", "uncached", "hits", "merges", "forwards", "misses")
    ]


class _Fields(ctypes.Structure):
    """``struct Statistics`` of tb/statistics.cpp."""

    _fields_ = [
        ("loads", _Accesses), ("stores", _Accesses),
        ("waits", ctypes.c_uint64 * _WAITS),
        ("latency_sum", ctypes.c_uint64), ("latency_maximum", ctypes.c_uint64),
        ("latencies", ctypes.c_uint64 * _BINS),
        ("states", ctypes.c_uint64 * _STATES * _WARPS),
    ]


def _accesses(counted: _Accesses) -> LineAccesses:
    return LineAccesses(**{name: getattr(counted, name) for name, *_ in counted._fields_})


def _cycles(states: list[int]) -> WarpCycles:
    return WarpCycles(
        instructions=states[_INSTRUCTION], nops=states[_NOP], not_selected=states[_NOT_SELECTED],
        inactive=states[_INACTIVE], stalls={reason: states[reason] for reason in REASONS},
    )


def read_statistics(config: SmConfig) -> RegionStatistics | None:
    """What has been counted since the launch, in the simulation that this process is; None without a probe."""
    if not config.probe:
        return None
    program = ctypes.CDLL(None)
    program.statistics_bytes.restype = ctypes.c_uint64
    program.statistics_address.restype = ctypes.c_void_p
    if program.statistics_bytes() != ctypes.sizeof(_Fields):
        raise RuntimeError("tb/statistics.py and tb/statistics.cpp disagree about the statistics")
    fields = _Fields.from_address(program.statistics_address())
    return RegionStatistics(
        loads=_accesses(fields.loads), stores=_accesses(fields.stores),
        waits={reason: fields.waits[reason] for reason in LookupWait if reason is not LookupWait.NONE},
        load_latency=LoadLatency(
            total=fields.latency_sum, maximum=fields.latency_maximum, histogram=tuple(fields.latencies),
        ),
        warps=tuple(_cycles(list(fields.states[warp])) for warp in range(config.warps)),
    )
