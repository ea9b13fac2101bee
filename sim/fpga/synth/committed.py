"""The committed figures for units, area and clock rate, in ``figures.json``, and their comparison with new results.

``python -m tests.docs.tables`` makes the tables of docs/fpga.md from them, and ``python -m
tests.sim.fpga.synth.measure_synth --write`` measures all of them again.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import PIPELINES, PRESETS

from ...machine.schemes import check_scheme, one_policy
from ...machine.settings import parse, replaced
from .report import Area, SynthResult
from .tools import versions

__all__ = ["FIGURES", "TOLERANCE", "BreakdownRow", "Difference", "UnitRow", "committed_row", "differences", "grown",
           "other_pipeline", "other_tools", "read_figures", "write_figures"]

FIGURES = Path(__file__).with_name("figures.json")
#: Per cent by which an area may exceed the committed one. The area is the same in every run, so none of it is noise.
TOLERANCE = 2.0


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A unit of a machine, with the options of ``metronome synth`` that select it, and the tools that measured it."""

    unit: str
    preset: str
    issue: str
    mode: str = "swas"
    fetch: str | None = None
    prediction: str = "btfn"
    pipeline: str = "classic"
    #: Field -> value, as for ``--set``.
    set: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def config(self) -> SmConfig:
        """The machine's configuration for a chip: without probe, assertions and oracles."""
        fields = PIPELINES[self.pipeline] | {name: parse(name, text) for name, text in self.set.items()}
        config = replaced(PRESETS[self.preset], fields)
        scheme = check_scheme(config, mode=self.mode, fetch=self.fetch, issue=self.issue, prediction=self.prediction)
        return one_policy(config, scheme).for_chip()


@dataclass(frozen=True, kw_only=True)
class UnitRow(_Row):
    """The area, and the clock rate for each seed of the placement (MHz; None: not routed)."""

    freq: float = 60.0
    luts: int = 0
    ffs: int = 0
    brams: int = 0
    dsps: int = 0
    fmax_mhz: Mapping[str, float | None] = field(default_factory=dict)
    #: The signals along the critical path, described for the table of docs/fpga.md.
    limit: str = ""

    @property
    def area(self) -> Area:
        """The area without the clock rates."""
        return Area(self.luts, self.ffs, self.brams, self.dsps)


@dataclass(frozen=True, kw_only=True)
class BreakdownRow(_Row):
    """The area of every part down to ``depth``: name of the part -> its LUTs, FFs, block RAMs, DSPs."""

    depth: int = 2
    parts: Mapping[str, list[int]] = field(default_factory=dict)


def read_figures(path: Path = FIGURES) -> tuple[list[UnitRow], list[BreakdownRow]]:
    """Return the rows of the file, in file order."""
    document = json.loads(path.read_text("utf-8"))
    return ([UnitRow(**row) for row in document["units"]], [BreakdownRow(**row) for row in document["breakdowns"]])


def write_figures(units: Iterable[UnitRow], breakdowns: Iterable[BreakdownRow], path: Path = FIGURES) -> None:
    """Write the rows to the file, one per line."""
    lists = {"units": units, "breakdowns": breakdowns}
    parts = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(dataclasses.asdict(row)) for row in rows) + "\n]"
        for name, rows in lists.items()
    ]
    path.write_text("{" + ",\n".join(parts) + "}\n", "utf-8")


def committed_row(unit: str, config: SmConfig, path: Path = FIGURES) -> UnitRow | None:
    """Return the row of the unit in exactly this configuration; None if there is none."""
    return next((row for row in read_figures(path)[0] if row.unit == unit and row.config == config), None)


def other_pipeline(unit: str, config: SmConfig, path: Path = FIGURES) -> str | None:
    """Return the pipeline of a row of the unit in a machine that differs from this one only in its pipeline, if any."""
    names = {name for fields in PIPELINES.values() for name in fields}
    for row in read_figures(path)[0]:
        own = {name: getattr(config, name) for name in names}
        if row.unit == unit and dataclasses.replace(row.config, **own) == config:
            return row.pipeline
    return None


@dataclass(frozen=True)
class Difference:
    """A figure as measured now and as committed. ``percent`` is the increase; None if the committed one was 0."""

    figure: str
    measured: float
    committed: float

    @property
    def percent(self) -> float | None:
        """The increase in per cent, rounded to a tenth."""
        if self.committed == 0:
            return 0.0 if self.measured == 0 else None
        return round(100 * (self.measured / self.committed - 1), 1)

    @property
    def is_growth(self) -> bool:
        """Whether it is an area that exceeds the committed one by more than :data:`TOLERANCE`."""
        return self.figure in _AREA and self.measured > self.committed * (1 + TOLERANCE / 100)

    def as_json(self) -> dict[str, Any]:
        """The three figures."""
        return {**dataclasses.asdict(self), "percent": self.percent}


_AREA = tuple(each.name for each in dataclasses.fields(Area))


def differences(result: SynthResult, row: UnitRow, freq: float | None = None) -> list[Difference]:
    """Return the figures that both have: the areas, and each seed's clock rate if the target ``freq`` is the same."""
    now, then = dataclasses.asdict(result.area), dataclasses.asdict(row.area)
    found = [Difference(name, now[name], then[name]) for name in _AREA]
    if freq == row.freq:
        for route in result.routes:
            before = row.fmax_mhz.get(str(route.seed))
            if route.fmax_mhz is not None and before is not None:
                found.append(Difference(f"fmax_mhz, seed {route.seed}", route.fmax_mhz, before))
    return found


def grown(found: Iterable[Difference]) -> list[str]:
    """Return a line for every area that exceeds the committed one by more than :data:`TOLERANCE` per cent."""
    return [
        f"{each.figure} is {each.measured:g}, more than {TOLERANCE:g} % above the committed figure of "
        f"{each.committed:g}"
        for each in found if each.is_growth
    ]


def other_tools(row: UnitRow) -> list[str]:
    """Return the tools whose version differs from that in the row, with both versions."""
    return [f"{name} {version}, committed with {row.tools.get(name)}" for name, version in versions().items()
            if row.tools.get(name) != version]
