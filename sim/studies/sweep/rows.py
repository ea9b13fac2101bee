"""A run's result as a row of a table: each column is the path of a value in the JSON of ``metronome run``.

``pandas.json_normalize`` of that JSON therefore gives the same names. Values without a fixed shape (a fault, the warps)
are JSON in a text column.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from metronome.hdl.config import MemoryMap, SmConfig
from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.layouts.counters import COUNTERS, StallReason
from metronome.hdl.layouts.waits import LookupWait

from ...machine.gpu_settings import GPU_FIELDS
from ...machine.statistics import LineAccesses
from ...run.outcome import Outcome
from .record import Run

__all__ = ["FAILED", "TIMES", "failed_row", "result_row", "schema"]

#: The status of a run that could not be simulated.
FAILED = "error"
#: Columns that differ between repetitions of a run.
TIMES = ("python_share", "sim_seconds", "cycles_per_second", "elaborate_seconds", "build_seconds")
#: Columns with JSON text.
_TEXTS = ("fault", "memcheck", "warps", "load_latency.histogram", "memory_statistics", "config.set", "progress",
          "config.policy_files", "sms")
_STRINGS, _TEXT, _COUNT, _REAL, _SWITCH = pa.list_(pa.string()), pa.string(), pa.int64(), pa.float64(), pa.bool_()

_OPTIONS = {
    "preset": _TEXT, "config_file": _TEXT, "set": _TEXT, "mode": _TEXT, "issue": _TEXT, "fetch": _TEXT, "memory": _TEXT,
    "latency": _COUNT, "timing": _TEXT, "memory_clock": _TEXT, "bank_hash": _TEXT, "cflags": _TEXT, "function": _TEXT,
    "no_simt": _SWITCH, "soft_float": _SWITCH, "hints": _SWITCH, "type": _TEXT, "size": _COUNT, "seed": _COUNT,
    "max_cycles": _COUNT,
    "check": _SWITCH, "memcheck": _SWITCH, "strict_races": _SWITCH, "engine": _TEXT,
    "policy_files": _TEXT, "forecast": _SWITCH, "progress": _SWITCH,
}
_ENDS = {
    "passed": _SWITCH, "status": _TEXT, "problems": _STRINGS, "exit_code": _COUNT, "fault": _TEXT,
    "mismatches": _STRINGS, "assertions": _STRINGS, "memcheck": _TEXT, "hang": _STRINGS, "region": _TEXT,
}


def _config_columns(kind: type = SmConfig, prefix: str = "config.") -> Iterator[tuple[str, pa.DataType]]:
    for field in dataclasses.fields(kind):
        if field.default_factory is MemoryMap or isinstance(field.default, MemoryMap):
            yield from _config_columns(MemoryMap, f"{prefix}{field.name}.")
            continue
        default = field.default
        kinds = {bool: _SWITCH, int: _COUNT, tuple: _STRINGS}
        yield f"{prefix}{field.name}", _TEXT if isinstance(default, enum.Enum) else kinds.get(type(default), _TEXT)


def _counter_columns() -> Iterator[tuple[str, pa.DataType]]:
    yield from ((counter.name, _COUNT) for counter in COUNTERS if not counter.by_reason)
    yield from ((f"stalls.{reason.name.lower()}", _COUNT) for reason in StallReason if reason)
    yield from (("ipc", _REAL), ("error_rate", _REAL), ("dcache_misses", _COUNT))
    loads = [field.name for field in dataclasses.fields(LineAccesses)]
    yield from ((f"lines.loads.{name}", _COUNT) for name in loads)
    yield from ((f"lines.stores.{name}", _COUNT) for name in loads if name not in ("forwards", "misses"))
    yield from ((f"lines.waits.{reason.name.lower()}", _COUNT) for reason in LookupWait if reason)
    yield from (("coalescing.lines_per_load", _REAL), ("coalescing.lines_per_store", _REAL))
    yield from (("load_latency.count", _COUNT), ("load_latency.mean", _REAL), ("load_latency.max", _COUNT))
    yield from (("load_latency.histogram", _TEXT), ("warps", _TEXT), ("memory_statistics", _TEXT))


#: The counters of an L2 (hdl.gpu.l2.cache).
_L2 = ("reads", "hits", "merged", "writes")
#: From sim.predict.forecast, which is slow to import.
_FORECAST = {"cycles": _COUNT, "total_cycles": _COUNT, "same_cycle": _REAL, "same_place": _REAL, "problem": _TEXT}


@functools.cache
def schema() -> pa.Schema:
    """Return the columns and their types."""
    columns = {"run": _TEXT, "reason": _TEXT, "kernel": _TEXT}
    columns |= {f"config.{name}": kind for name, kind in _OPTIONS.items()}
    columns |= dict(_config_columns())
    of_gpu = {name: kind for name, kind in _config_columns(GpuConfig) if name != "config.sm"}
    assert of_gpu.keys() == {f"config.{name}" for name in GPU_FIELDS}
    columns |= of_gpu | {"config.sms": _COUNT, "sms": _TEXT} | {f"l2.{name}": _COUNT for name in _L2}
    columns |= _ENDS | dict(_counter_columns()) | dict.fromkeys(TIMES, _REAL)
    columns |= {"progress": _TEXT, "estimated_misses": _COUNT}
    columns |= {f"forecast.{name}": kind for name, kind in _FORECAST.items()}
    return pa.schema(list(columns.items()))


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, each in value.items():
        path = f"{prefix}{name}"
        if path in _TEXTS:
            yield path, None if each is None else json.dumps(each)
        elif isinstance(each, Mapping):
            yield from _flat(each, f"{path}.")
        elif isinstance(each, tuple | list):
            yield path, [str(one) for one in each]
        else:
            yield path, str(each) if isinstance(each, enum.Enum) else each


def _row(run: Run, key: str, values: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
    row = dict.fromkeys(schema().names) | {"run": key, "reason": reason}
    flat = dict(_flat(values))
    # Without statistics these values are None, not a table.
    missing = {name for name, value in flat.items() if name not in row and value is not None}
    assert not missing, f"the table has no column {', '.join(sorted(missing))}"
    return row | {"config.sms": run.sms} | {name: value for name, value in flat.items() if name in row}


def result_row(run: Run, key: str, outcome: Outcome, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the row of a run that has been simulated; ``reason`` describes the problem, if there is one.

    ``more``: values that are not in the JSON of a run: ``progress`` (:func:`sim.studies.sweep.progress.progress_of`),
    and ``estimated_misses``, those of its list.
    """
    reason = None if outcome.passed else next(iter(outcome.complaints()), str(outcome.result.status))
    values = outcome.as_json() | {"kernel": run.kernel, "config": run.described} | dict(more or {})
    return _row(run, key, values, reason)


def failed_row(run: Run, key: str, reason: str) -> dict[str, Any]:
    """Return the row of a run that could not be simulated: its ``status`` is ``error``."""
    return _row(run, key, {"kernel": run.kernel, "config": run.described, "passed": False, "status": FAILED}, reason)
