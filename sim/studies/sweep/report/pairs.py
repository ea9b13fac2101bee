"""Runs of the benchmarks of Crouzet 2024 on one machine, with the baseline and with SWaS, found by their settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .data import Row
from .papers import papers

__all__ = ["PREDICTIONS", "Pairs", "benchmark"]

#: Prediction -> title of its panel.
PREDICTIONS = {
    "not_taken": "branches predicted not taken, as in the paper",
    "btfn": "backward branches predicted taken, forward ones not (btfn)",
    "private": "each warp predicted from its own branches and jumps (private)",
}


@dataclasses.dataclass(frozen=True)
class Pairs:
    """The rows of one machine for the paper's benchmarks: those of the baseline and those of SWaS."""

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
        """The predictions that occur, the paper's first."""
        there = {row.prediction for row in self.rows}
        return [name for name in PREDICTIONS if name in there]

    def of(self, mode: str, workload: str, prediction: str, issue: str, fetch: str | None = None) -> Row | None:
        """Return the run, if there is one."""
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
    """Return the paper's name of the kernel, with a suffix that distinguishes several workloads of it."""
    return papers()["crouzet"]["benchmarks"][kernel]["name"] + workload.removeprefix(kernel)
