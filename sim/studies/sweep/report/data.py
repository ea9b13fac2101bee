"""The rows of a sweep as the report uses them: each is a workload on a machine with a scheme.

The three names omit everything that all rows have in common, so that they are short but still distinguish the rows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from metronome.hdl.layouts.counters import StallReason

from ....build.origin import maker
from ....machine.gpu_settings import GPU_FIELDS
from ..results import Results

__all__ = ["ISSUED", "STALLS", "ReportError", "Row", "Rows", "grouped", "load", "named", "varying"]

Thing = TypeVar("Thing")

#: Options of a run that determine the computation.
_WORKLOAD = ("function", "type", "size", "seed", "cflags", "no_simt", "soft_float", "hints", "max_cycles")
#: Options that belong to the machine, besides its preset and the fields that were set.
_MACHINE = ("memory", "latency", "timing", "memory_clock", "bank_hash", "check", "memcheck", "engine",
            *GPU_FIELDS)
_SCHEME = ("mode", "fetch", "issue", "prediction")
#: Columns with the reasons for cycles without an issue.
STALLS = tuple(f"stalls.{reason.name.lower()}" for reason in StallReason if reason)
#: With :data:`STALLS`, the parts into which all cycles are divided.
ISSUED = ("committed", "nops")


class ReportError(ValueError):
    """No report can be made from the results; the text is one line."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A run that has passed. ``values`` has all columns; the three names distinguish it from the other runs."""

    values: Mapping[str, Any]
    workload: str
    machine: str
    scheme: str

    def __getitem__(self, column: str) -> Any:
        """The value in a column."""
        return self.values[column]

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self["kernel"]

    @property
    def mode(self) -> str:
        """How fetch and issue are coordinated."""
        return self["config.mode"]

    @property
    def fetch(self) -> str | None:
        """The fetch policy; None if the front end has none."""
        return self["config.fetch"]

    @property
    def issue(self) -> str:
        """The issue policy."""
        return self["config.issue"]

    @property
    def prediction(self) -> str:
        """The branch prediction."""
        return self["config.prediction"]

    @property
    def cycles(self) -> int:
        """Cycles of the measured region."""
        return self["cycles"]

    @property
    def slots(self) -> int:
        """Issue slots of the measured region: one in each cycle for each scheduler of each SM."""
        return self.cycles * (self["config.schedulers"] or 1) * (self["config.sms"] or 1)

    @property
    def load_cycles(self) -> float | None:
        """The sum of the latencies of all loads; None if the run has no statistics."""
        mean, count = self["load_latency.mean"], self["load_latency.count"]
        return None if count is None else (mean or 0.0) * count


@dataclasses.dataclass(frozen=True)
class Rows:
    """The rows of one folder in the order of the sweep; ``missing`` describes the other runs."""

    about: Mapping[str, Any]
    folder: str
    passed: Sequence[Row]
    failed: Sequence[Row]
    missing: Sequence[str]
    #: Passed, but the program never opened the measured region, so there are no cycles.
    unmeasured: Sequence[Row]
    #: The versions that made the results.
    makers: Sequence[str] = ()

    @property
    def asked(self) -> int:
        """The number of runs that the sweep requested."""
        return len(self.about["runs"])


def load(results: Results) -> Rows:
    """Load everything in a folder of results.

    Raises
    ------
    ResultsError
        If it is not a folder of results, or one of them cannot be read.
    ReportError
        If no run has ended yet.
    """
    about = results.about()
    values = results.table().to_pylist()
    if not values:
        raise ReportError(f"{results.folder}: no run has ended yet: there is nothing to report")
    rows = named(values)
    there = {row["run"] for row in rows}
    good = [row for row in rows if row["passed"]]
    return Rows(
        about=about, folder=str(results.folder), passed=[row for row in good if row["cycles"]],
        failed=[row for row in rows if not row["passed"]],
        missing=[f"{title} ({key})" for key, title in about["runs"].items() if key not in there],
        unmeasured=[row for row in good if not row["cycles"]],
        makers=sorted({"an earlier version" if each is None else maker(each) for each in results.origins()}),
    )


def varying(values: Iterable[Mapping[str, Any]], columns: Iterable[str], *, missing: bool = False) -> list[str]:
    """Return the columns that differ between the rows with a value there; with ``missing``, between all rows."""
    values, ignored = list(values), set() if missing else {None}
    return [name for name in columns if len({_hashable(row[name]) for row in values} - ignored) > 1]


def _hashable(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


def named(values: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the rows with their names."""
    machine = varying(values, [f"config.{name}" for name in _MACHINE])
    scheme = varying(values, [f"config.{name}" for name in _SCHEME])
    own: dict[str, list[str]] = {}
    for kernel in {row["kernel"] for row in values}:
        alike = [row for row in values if row["kernel"] == kernel]
        own[kernel] = varying(alike, [f"config.{name}" for name in _WORKLOAD], missing=True)
    return [
        Row(row, _workload(row, own[row["kernel"]]), _machine(row, machine), _scheme(row, scheme)) for row in values
    ]


def _given(row: Mapping[str, Any], columns: Iterable[str]) -> Iterator[str]:
    """The options that were given: ``seed=2``; a size has no name, and a switch no value."""
    for column in columns:
        name, value = column.removeprefix("config."), row[column]
        if value is True:
            yield name
        elif value is not None and value is not False and value != "":
            yield str(value) if name in ("function", "size", "type", "memory") else f"{name}={value}"


def _workload(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    return " ".join([row["kernel"], *_given(row, columns)])


def _machine(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    settings = json.loads(row["config.set"] or "{}")
    parts = [row["config.preset"] or "-", *[row["config.config_file"]] * (row["config.config_file"] is not None)]
    parts += [f"{name}={text}" for name, text in settings.items()]
    parts += _given(row, columns)
    return ", ".join(parts)


def _scheme(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    """``baseline lrr-gtlrr btfn``, without the parts that do not vary; the policies are always included."""
    fetch, issue = row["config.fetch"], row["config.issue"]
    parts = [issue if fetch is None else f"{fetch}-{issue}"]
    if "config.mode" in columns:
        parts.insert(0, row["config.mode"])
    if "config.prediction" in columns:
        parts.append(row["config.prediction"])
    return " ".join(parts)


def grouped(things: Iterable[Thing], key: Callable[[Thing], Any]) -> dict[Any, list[Thing]]:
    """Group rows, or objects made from them, by ``key``, in the order in which the keys first occur."""
    groups: dict[Any, list[Thing]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups
