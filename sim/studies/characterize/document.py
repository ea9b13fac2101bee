"""The measurements as the JSON document of ``metronome characterize``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .classes import CLASSES, LONGER
from .expected import Row
from .measure import Curve
from .table_7 import table_7

__all__ = ["cpi", "document", "spread"]


def cpi(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Cycles per instruction of each class, for each number of warps, in the slowest warp.

    ``dependent`` is None if an instruction of the class cannot need the one before it.
    """
    slopes = {(each.name, each.warps, each.dependent): each.slope for each in curves}
    places = dict.fromkeys((each.name, each.warps) for each in curves)
    return [
        {
            "class": name, "about": CLASSES[name].about, "warps": warps,
            "independent": slopes.get((name, warps, False)), "dependent": slopes.get((name, warps, True)),
        }
        for name, warps in places
    ]


def spread(runs: Sequence[Sequence[int]]) -> dict[str, Any]:
    """For one piece in several runs: minimum and maximum of the slowest warp, and warps that differ between runs."""
    slowest = [max(run) for run in runs]
    return {
        "least": min(slowest), "most": max(slowest),
        "varying_warps": [warp for warp, cycles in enumerate(zip(*runs, strict=True)) if len(set(cycles)) > 1],
        "cycles": [list(run) for run in runs],
    }


def document(
    rows: Sequence[Row], curves: Sequence[Curve], repeated: Mapping[str, Sequence[Sequence[int]]]
) -> dict[str, Any]:
    """Return all measurements by their names in docs/characterize.md, and whether all values are as expected."""
    return {
        "passed": not any(row.differs for row in rows),
        "latencies": [
            {
                "name": row.finding.key, "measured": row.finding.value, "unit": row.finding.unit,
                "config": row.expected, "source": row.source or None, "how": row.finding.how, "differs": row.differs,
            }
            for row in rows
        ],
        "cpi": cpi(curves), "table_7": table_7(curves),
        "curves": [
            {
                "class": each.name, "dependent": each.dependent, "warps": each.warps, "instructions": list(LONGER),
                "cycles": [list(cycles) for cycles in each.cycles],
            }
            for each in curves
        ],
        "repeated": {name: spread(runs) for name, runs in repeated.items()},
    }
