"""Python's side of tb/statistics.cpp: the sums of a region, read after its program has stopped."""

from __future__ import annotations

import ctypes
from dataclasses import fields

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.waits import LookupWait
from metronome.sim.machine.statistics import REASONS, LineAccesses, LoadLatency, RegionStatistics, WarpCycles

__all__ = ["read_statistics"]

#: The capacity of tb/statistics.cpp.
_WARPS, _WAITS, _BINS, _STATES = 64, 16, 64, 32
#: A warp's cycles are indexed by stall reason (none: not selected); issue slots and inactive cycles follow.
_NOT_SELECTED = StallReason.NONE
_ACCESS_FIELDS = tuple(field.name for field in fields(LineAccesses))


class _Numbers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("warps", "reasons", "lookup_waits")]


class _Accesses(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in _ACCESS_FIELDS]


class _Fields(ctypes.Structure):
    """``struct Statistics`` of tb/statistics.cpp."""

    _fields_ = [
        ("numbers", _Numbers),
        ("loads", _Accesses), ("stores", _Accesses),
        ("waits", ctypes.c_uint64 * _WAITS),
        ("latency_sum", ctypes.c_uint64), ("latency_maximum", ctypes.c_uint64),
        ("latencies", ctypes.c_uint64 * _BINS),
        ("states", ctypes.c_uint64 * _STATES * _WARPS),
    ]


def _accesses(counted: _Accesses) -> LineAccesses:
    return LineAccesses(**{name: getattr(counted, name) for name in _ACCESS_FIELDS})


def _cycles(states: list[int]) -> WarpCycles:
    instructions, nops, inactive = states[len(StallReason) : len(StallReason) + 3]
    return WarpCycles(
        instructions=instructions, nops=nops, not_selected=states[_NOT_SELECTED], inactive=inactive,
        stalls={reason: states[reason] for reason in REASONS},
    )


def _agree(config: SmConfig, program: ctypes.CDLL, found: _Numbers) -> None:
    """Check that both sides count the same things.

    Raises
    ------
    RuntimeError
        If they differ, so that sums would be read under the wrong names.
    """
    names = program.statistics_access_fields().decode().split()
    numbers = [(name, getattr(found, name)) for name, *_ in _Numbers._fields_]
    expected = list(zip(dict(numbers), (config.warps, len(StallReason), len(LookupWait)), strict=True))
    if names != list(_ACCESS_FIELDS) or numbers != expected:
        raise RuntimeError(
            f"tb/statistics.py and the simulation disagree about the statistics: {expected}, {list(_ACCESS_FIELDS)} "
            f"here, {numbers}, {names} there"
        )


def read_statistics(config: SmConfig, program: ctypes.CDLL | None = None) -> RegionStatistics | None:
    """Return the sums since the launch; None without a probe.

    ``program``: the library or executable that contains tb/statistics.cpp; by default the simulation in this process.
    """
    if not config.probe:
        return None
    program = program or ctypes.CDLL(None)
    program.statistics_bytes.restype = ctypes.c_uint64
    program.statistics_address.restype = ctypes.c_void_p
    program.statistics_access_fields.restype = ctypes.c_char_p
    if program.statistics_bytes() != ctypes.sizeof(_Fields):
        raise RuntimeError("tb/statistics.py and tb/statistics.cpp disagree about the size of the statistics")
    found = _Fields.from_address(program.statistics_address())
    _agree(config, program, found.numbers)
    return RegionStatistics(
        loads=_accesses(found.loads), stores=_accesses(found.stores),
        waits={reason: found.waits[reason] for reason in LookupWait if reason is not LookupWait.NONE},
        load_latency=LoadLatency(
            total=found.latency_sum, maximum=found.latency_maximum, histogram=tuple(found.latencies),
        ),
        warps=tuple(_cycles(list(found.states[warp])) for warp in range(config.warps)),
    )
