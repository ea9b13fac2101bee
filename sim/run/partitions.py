"""The records of a machine with several schedulers, each partition's events put in one order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.config_names import named

__all__ = ["one_after_another", "parts_of", "path_of"]

#: The parts of a record that each partition has (:func:`hdl.layouts.probe.unit_events`).
_OWN = ("front", "issue", "wb", "control")


def parts_of(config: SmConfig, parts: Sequence[str]) -> list[str]:
    """The parts of a record for all partitions, from those for the first one."""
    return [named(part, p) for part in parts for p in range(config.schedulers if part in _OWN else 1)]


def path_of(path: str, partition: int) -> str:
    """The field ``path`` of a record ("wb.value.rd") for a partition."""
    unit, _, rest = path.partition(".")
    if path == "sm.stall":
        return f"sm.{named(rest, partition)}"
    return f"{named(unit, partition)}.{rest}" if unit in _OWN else path


def one_after_another(
    paths: Sequence[str], cycles: np.ndarray, events: Sequence[Sequence[np.ndarray]]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return cycles and fields with a row for each event: in a cycle first all writes, then all issues, then a store.

    Parameters
    ----------
    paths
        The fields; a number of a warp ends in ".warp".
    cycles
        The cycle of each record, of shape (n,).
    events
        For each partition its fields, of shape (n, ...). Warps have the numbers of their partition; in the result, that
        of the SM.
    """
    if len(events) == 1:
        return cycles, list(events[0])
    rows, partitions = len(cycles), len(events)
    merged = []
    for column, path in enumerate(paths):
        values = [each[column] for each in events]
        out = np.zeros((rows, 2 * partitions, *values[0].shape[1:]), values[0].dtype)
        if path == "store.valid":
            out[:, -1] = values[0]
        else:
            first = partitions if path.startswith("issue.") else 0
            for p, value in enumerate(values):
                out[:, first + p] = value * partitions + p if path.endswith(".warp") else value
        merged.append(out.reshape(-1, *out.shape[2:]))
    return np.repeat(cycles, 2 * partitions), merged
