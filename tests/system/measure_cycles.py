"""Exact cycles of every kernel on every preset, front end and memory model: the table in cycles.json.

``python -m tests.system.measure_cycles`` measures all of it and compares it with the table: each difference is a line,
and the status is 1. ``--preset TINY`` (repeatable) takes a part, ``--write`` puts what was measured into the table.
A change that moves a cycle, be it a faster one, writes the table in the same commit.
"""

import argparse
import json
import sys
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from metronome.hdl.config import Coordination, Prediction, SmConfig
from metronome.hdl.presets import PRESETS
from metronome.sim.program.kernels import kernels, prepare
from metronome.sim.run.runner import RunRequest, run_many
from tests.system.scheme_builds import MATRIX_KERNELS, MORE_KERNELS

TABLE = Path(__file__).with_name("cycles.json")
USUAL = ("lrr", "gtlrr", "gtlo")
#: Problem size, side of a matrix.
SIZES = {"TINY": (11, 3), "BASE": (37, 6), "MID": (133, 9), "PAPER": (1024, 32)}
#: Fetch and issue policies that are measured, by front end; PAPER takes the first pair only, MORE_KERNELS that of TINY.
PAIRS: dict[Coordination, list[tuple[str | None, str]]] = {
    Coordination.SWAS: [(None, name) for name in USUAL],
    Coordination.BASELINE: [("lrr", "gtlrr"), ("gtlo", "gtlo"), ("gtlrr", "lrr")],
    Coordination.VORTEX: [("fixed", name) for name in USUAL],
}
#: Model, latency, seed; the same.
MEMORIES = [("fixed", 20, 1), ("dram", 1, 1), ("random", 60, 2), ("tdm", 1, 1)]

#: "preset mode prediction fetch issue memory kernel type size" -> cycles of the run, cycles and errors of its region.
Table = dict[str, list[int]]


@dataclass(frozen=True)
class Case:
    """One configuration, and what runs on it."""

    preset: str
    mode: Coordination
    prediction: Prediction

    @property
    def config(self) -> SmConfig:
        """The preset with this front end and the usual policies."""
        fetch = {Coordination.SWAS: (), Coordination.BASELINE: USUAL, Coordination.VORTEX: ("fixed",)}[self.mode]
        return replace(
            PRESETS[self.preset], coordination=self.mode, prediction=self.prediction, policies=USUAL,
            fetch_policies=fetch,
        )

    def measure(self, *, brief: bool = False) -> Table:
        """Run everything; ``brief``: with the first pair of policies and memory model only, but in lock step."""
        config = self.config
        last = 1 if self.preset == "PAPER" or brief else None
        first = PAIRS[self.mode][0], MEMORIES[0]
        runs = [
            run for run in product(PAIRS[self.mode][:last], MEMORIES[:last], self._programs())
            if run[2][0] not in MORE_KERNELS or (run[:2] == first and self.preset == "TINY")
        ]
        requests = [
            RunRequest(
                launch=prepare(name, dtype, size, 1, config), policy=issue, fetch_policy=fetch, memory=memory,
                latency=latency, seed=seed, check=brief, memcheck=brief,
            )
            for (fetch, issue), (memory, latency, seed), (name, dtype, size) in runs
        ]
        found = {}
        for run, request, result in zip(runs, requests, run_many(config, requests), strict=True):
            (fetch, issue), (memory, *_), program = run
            words = (self.preset, self.mode, self.prediction, fetch or "-", issue, memory, *program)
            key = " ".join(map(str, words))
            wrong = request.launch.check(result.memory) if result.status == "ended" else ["no end"]
            wrong += [*result.mismatches, *result.assertions, *(result.memcheck or [])]
            assert not wrong, f"{key}: {result.status}, {wrong}"
            found[key] = [result.total_cycles, result.counters["cycles"], result.counters["errors"]]
        return found

    def _programs(self) -> list[tuple[str, str, int]]:
        sizes = SIZES[self.preset]
        return [(each.name, dtype, sizes[each.name in MATRIX_KERNELS]) for each in kernels() for dtype in each.types]


def expected(case: Case) -> Table:
    """The rows of the table that ``case`` has to give."""
    start = f"{case.preset} {case.mode} {case.prediction} "
    return {key: row for key, row in json.loads(TABLE.read_text()).items() if key.startswith(start)}


def differences(measured: Table, table: Table) -> list[str]:
    """One line for each row that is not the same in both."""
    return [
        f"{key}: {measured.get(key, 'not measured')}, in the table {table.get(key, 'no such row')}"
        for key in sorted(measured.keys() | table.keys()) if measured.get(key) != table.get(key)
    ]


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", action="append", choices=list(SIZES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows: Table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    wrong = 0
    listed = {tuple(key.split()[:3]) for key in rows}
    for case in map(Case, *zip(*product(options.preset or SIZES, Coordination, Prediction), strict=True)):
        if (case.preset, case.mode, case.prediction) not in listed:
            continue
        print(f"{case.preset} {case.mode} {case.prediction} ...", file=sys.stderr, flush=True)
        measured = case.measure()
        if options.write:
            rows |= measured
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
            TABLE.write_text("{\n" + lines + "\n}\n")
        else:
            found = differences(measured, expected(case))
            wrong += len(found)
            print("\n".join(found) or f"{len(measured)} rows equal")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
