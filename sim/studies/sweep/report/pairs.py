"""Runs of the benchmarks of Crouzet 2024 on one machine: the baseline's and those of SWaS, found by what they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .data import Row
from .papers import papers

__all__ = ["PREDICTIONS", "Pairs", "benchmark"]

#: Prediction -> what a panel says above it.
PREDICTIONS = {
    "not_taken": "branches predicted not taken, as in the paper",
    "btfn": "backward branches predicted taken, forward ones not (btfn)",
}


@dataclasses.dataclass(frozen=True)
class Pairs:
    """The rows of one machine: the baseline's and those of SWaS, of the paper's benchmarks."""

    rows: Sequence[Row]

    @property
    def baseline(self) -> list[Row]:
        """Rows of the baseline."""
        return [row for row in self.rows if row.mode == "baseline"]

    @property
    def swas(self) -> list[Row]:
        """Rows of SWaS."""
        return [row for row in self.rows if row.mode == "swas"]

    @property
    def predictions(self) -> list[str]:
        """Those that there are, the paper's first."""
        there = {row.prediction for row in self.rows}
        return [name for name in PREDICTIONS if name in there]

    def of(self, mode: str, workload: str, prediction: str, issue: str, fetch: str | None = None) -> Row | None:
        """The run, if it is there."""
        return next((
            row for row in self.rows if (row.mode, row.workload, row.prediction, row.issue, row.fetch)
            == (mode, workload, prediction, issue, fetch)
        ), None)

    def workloads(self) -> list[tuple[str, str]]:
        """Each workload with its kernel, in the paper's order."""
        order = list(papers()["crouzet"]["benchmarks"])
        pairs = dict.fromkeys((row.workload, row.kernel) for row in self.rows)
        return sorted(pairs, key=lambda pair: order.index(pair[1]))


def benchmark(kernel: str, workload: str) -> str:
    """The paper's name of the kernel, with what tells apart several workloads of it."""
    return papers()["crouzet"]["benchmarks"][kernel]["name"] + workload.removeprefix(kernel)
