"""Area and clock rate of the units of sim/fpga/synth/figures.json, measured anew.

``python -m tests.sim.fpga.synth.measure_synth`` measures every row and compares it with the file: each difference is a
line, and the status is 1. ``--unit NAME`` (repeatable) takes a part, ``--area`` leaves placing and routing out,
``--write`` puts what was measured into the file. Everything is cached, so that one that was interrupted goes on. For a
new row put its options into the file, and its seeds as ``"fmax_mhz": {"1": null}``.
"""

import argparse
import dataclasses
import sys

from metronome.sim.fpga.synth import Options, breakdown, synthesize, versions
from metronome.sim.fpga.synth.committed import BreakdownRow, UnitRow, read_figures, write_figures


def measure_unit(row: UnitRow, *, routed: bool = True, minutes: float = 30.0) -> UnitRow:
    """The row with what is measured now; its clock rates as they are unless it is ``routed``."""
    options = [Options(freq=row.freq, seed=int(seed), minutes=minutes) for seed in row.fmax_mhz] if routed else []
    result = synthesize(row.unit, row.config, options)
    rates = {str(route.seed): route.fmax_mhz for route in result.routes} if routed else row.fmax_mhz
    return dataclasses.replace(row, **dataclasses.asdict(result.area), fmax_mhz=rates, tools=versions())


def measure_breakdown(row: BreakdownRow) -> BreakdownRow:
    """The same."""
    found = breakdown(row.unit, row.config, row.depth).parts
    return dataclasses.replace(
        row, parts={part.path: list(dataclasses.astuple(part.area)) for part in found}, tools=versions()
    )


def changes(measured: UnitRow | BreakdownRow, row: UnitRow | BreakdownRow) -> list[str]:
    """A line for each field that is not the same."""
    now, then = dataclasses.asdict(measured), dataclasses.asdict(row)
    return [f"  {name}: {now[name]}, in the file {then[name]}" for name in now if now[name] != then[name]]


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unit", action="append")
    parser.add_argument("--area", action="store_true", help="synthesis only")
    parser.add_argument("--minutes", type=float, default=30.0, help="for placing and routing from one seed")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    units, breakdowns = read_figures()
    wrong = 0
    for rows in (units, breakdowns):
        for place, row in enumerate(rows):
            if given.unit and row.unit not in given.unit:
                continue
            print(f"{row.unit} {row.preset} {row.mode} {row.issue} {row.prediction} ...", file=sys.stderr, flush=True)
            if isinstance(row, UnitRow):
                measured: UnitRow | BreakdownRow = measure_unit(row, routed=not given.area, minutes=given.minutes)
            else:
                measured = measure_breakdown(row)
            found = changes(measured, row)
            print("\n".join([f"{row.unit} {row.preset} {row.mode}: {'not ' * bool(found)}as in the file", *found]))
            if given.write:
                rows[place] = measured  # type: ignore[call-overload]  # of the list's own kind
                write_figures(units, breakdowns)
            else:
                wrong += bool(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
