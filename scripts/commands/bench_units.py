"""``metronome bench --synth``: area and clock rate of units, beside the speeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from rich.table import Table

from ..output.tables import new_table
from ..process.backend import Backend
from ..process.progress import Report
from .bench_cases import Asked

__all__ = ["AREAS", "SEEDS", "measure_units", "not_routed", "units_table"]

#: The seeds of the placements. Their spread is the noise of a clock rate.
SEEDS = (1, 2, 3)
#: Field of an area -> its name in tables.
AREAS = {"luts": "LUTs", "ffs": "FFs", "brams": "block RAMs", "dsps": "DSPs"}


def measure_units(backend: Backend, asked: Asked, progress: Report) -> dict[str, dict[str, Any]]:
    """Return preset -> unit -> its area and ``fmax_mhz``, by seed: MHz, or None if that placement was not routed."""
    figures: dict[str, dict[str, Any]] = {}
    for preset, config in asked.chips.items():
        for unit in asked.units:
            progress(f"{preset}, {unit}: area and clock rate")
            result = backend.synthesize(unit, config, SEEDS)
            rates = {str(route.seed): route.fmax_mhz for route in result.routes}
            figures.setdefault(preset, {})[unit] = {**asdict(result.area), "fmax_mhz": rates}
    return figures


def units_table(units: Mapping[str, Any]) -> Table:
    """Return a table with a row for each unit of each preset."""
    table = new_table("preset", "unit", *(f">{name}" for name in AREAS.values()), ">MHz, slowest", ">MHz, fastest",
                      title=f"units on an ECP5, {len(SEEDS)} placements")
    for preset, by_unit in units.items():
        for unit, figure in by_unit.items():
            rates = [rate for rate in figure["fmax_mhz"].values() if rate is not None]
            shown = (f"{min(rates):.1f}", f"{max(rates):.1f}") if rates else ("not routed", "")
            table.add_row(preset, unit, *(str(figure[field]) for field in AREAS), *shown)
    return table


def not_routed(units: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each unit without a clock rate."""
    for preset, by_unit in units.items():
        for unit, figure in by_unit.items():
            if all(rate is None for rate in figure["fmax_mhz"].values()):
                yield f"--synth: no placement of {unit} was routed for {preset}"
