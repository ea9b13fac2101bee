"""The numbers in the text of Crouzet 2024, section VI.B, compared with ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import cells
from .data import Row
from .model import Cell, Column, Table
from .pairs import Pairs
from .papers import papers

__all__ = ["text_table"]


def _latencies(rows: Sequence[Row], kernels: Sequence[str]) -> list[float]:
    """Mean latencies of loads, with LRR-GTLRR."""
    return [
        row["load_latency.mean"] for row in rows
        if (row.fetch, row.issue) == ("lrr", "gtlrr") and row.kernel in kernels and row["load_latency.mean"] is not None
    ]


def _psort(pairs: Pairs, prediction: str) -> list[float]:
    changes = []
    for workload, kernel in pairs.workloads():
        base = pairs.of("baseline", workload, prediction, "gtlo", "lrr")
        swas = pairs.of("swas", workload, prediction, "gtlo")
        if kernel == "psort_group" and base and swas and base["ipc"]:
            changes.append(100 * (swas["ipc"] / base["ipc"] - 1))
    return changes


def _ours(pairs: Pairs, prediction: str) -> dict[str, Callable[[], Cell]]:
    base = [row for row in pairs.baseline if row.prediction == prediction]
    swas = [row for row in pairs.swas if row.prediction == prediction]
    others = [kernel for kernel in papers()["crouzet"]["benchmarks"] if kernel not in ("kmeans", "psort_group")]
    return {
        "ipc_range": lambda: cells.span([row["ipc"] for row in base if row["ipc"] is not None], 2),
        "hotspot3d_errors": lambda: cells.span(
            [row["errors"] for row in base if row.kernel == "hotspot3d" and row["errors"] is not None]
        ),
        "kmeans_latency": lambda: cells.span(_latencies(base, ["kmeans"]), 1),
        "psort_latency": lambda: cells.span(_latencies(base, ["psort_group"]), 1),
        "other_latency": lambda: cells.span(_latencies(base, others), 1),
        "psort_gtlo": lambda: cells.span(_psort(pairs, prediction), 1),
        "swas_errors": lambda: cells.count(sum(row["errors"] or 0 for row in swas) if swas else None),
    }


def text_table(pairs: Pairs, name: str) -> Table:
    """The table of these numbers."""
    ours = {prediction: _ours(pairs, prediction) for prediction in pairs.predictions}
    rows = []
    for key, statement in papers()["crouzet"]["text"].items():
        value = statement["value"]
        digits = 0 if key.endswith("errors") or key.endswith("latency") else 1 if key == "psort_gtlo" else 2
        theirs = cells.span(value if isinstance(value, list) else [value], digits)
        rows.append([cells.text(statement["what"]), theirs, *(ours[prediction][key]() for prediction in ours)])
    return Table(
        f"{name}-text", "Numbers in the paper's text",
        "Measurements that the text of the paper states, and ours. Two numbers are a minimum and a maximum.",
        "Crouzet 2024, section VI.B",
        [Column("what", text=True), Column("paper"), *(Column(f"ours, {prediction}") for prediction in ours)], rows,
    )
