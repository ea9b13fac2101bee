"""What the tools report, in the terms of the source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

from .wrapper import CORE, INNER, RAMS

__all__ = ["CLASH", "Area", "PathStep", "SynthResult", "area", "critical_path", "fmax", "signal_name"]

#: Names that yosys builds from a cell and its port: everything from the first of them on is not the source's.
_MADE_UP = re.compile(
    r"(_(LUT4|PFUMX|L6MUX21|CCU2C|TRELLIS_FF|TRELLIS_DPR16X4|TRELLIS_COMB|DP16KD|MULT18X18D)_|_\$|\$).*$"
)
_BIT = re.compile(r"\[\d+\]$")
#: What Amaranth adds to a name that is already taken.
CLASH = re.compile(r"\$\d+(?=\.|_|\[|$)")


@dataclass(frozen=True)
class PathStep:
    """A stretch of the critical path: the signal that it runs through, the nanoseconds up to its end, its LUTs."""

    signal: str
    delay_ns: float
    at_ns: float
    levels: int


@dataclass(frozen=True)
class Area:
    """4-input LUT sites, flip-flops, block RAMs (DP16KD) and multipliers (MULT18X18D).

    A plain LUT is one site, a carry cell two, a 16x4 distributed memory six.
    """

    luts: int = 0
    ffs: int = 0
    brams: int = 0
    dsps: int = 0

    @classmethod
    def of(cls, cells: Mapping[str, int]) -> Area:
        """That of so many cells of each type."""
        return cls(
            cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0) + 6 * cells.get("TRELLIS_DPR16X4", 0),
            cells.get("TRELLIS_FF", 0), cells.get("DP16KD", 0), cells.get("MULT18X18D", 0),
        )

    def __add__(self, other: Area) -> Area:
        return Area(*(ours + theirs for ours, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class SynthResult:
    """Area of a unit without its wrapper (:class:`Area`), and clock rate and critical path of the unit within it.

    ``fmax_mhz`` is after routing, for the slowest process, voltage and temperature of the speed grade.
    """

    unit: str
    luts: int
    ffs: int
    brams: int
    dsps: int
    fmax_mhz: float
    critical_path: tuple[PathStep, ...]

    @property
    def levels(self) -> int:
        """LUTs, carries and multiplexers along the critical path."""
        return sum(step.levels for step in self.critical_path)

    def as_json(self) -> dict[str, Any]:
        """The document that docs/fpga.md describes, and the number of levels."""
        return {**asdict(self), "critical_path": [asdict(step) for step in self.critical_path], "levels": self.levels}


def signal_name(net: str) -> str:
    """The Amaranth name, with its hierarchy, of a net of the netlist: of the nearest signal where yosys made it up."""
    name = _BIT.sub("", _MADE_UP.sub("", CLASH.sub("", net)))
    return name.removeprefix(f"{INNER}.").removeprefix(f"{RAMS}.").removeprefix(f"{CORE}.") or net


def area(statistics: dict[str, Any]) -> Area:
    """The area of the unit's own module, from ``stat -json`` of yosys."""
    return Area.of(statistics["modules"][f"\\top.{INNER}"]["num_cells_by_type"])


def _clocked_path(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The path between two edges of the clock (others come from or go to pins)."""
    for path in report["critical_paths"]:
        if path["from"] == path["to"] and path["from"].startswith("posedge"):
            return path["path"]
    raise ValueError("the report of nextpnr has no path from clock edge to clock edge")


def fmax(report: dict[str, Any]) -> float:
    """MHz of the one clock."""
    (clock,) = report["fmax"].values()
    return round(clock["achieved"], 2)


def critical_path(report: dict[str, Any]) -> tuple[PathStep, ...]:
    """The slowest path, consecutive pieces through one signal added up, in nextpnr's ``--report``."""
    steps: list[PathStep] = []
    at = 0.0
    for piece in _clocked_path(report):
        at += piece["delay"]
        # The name of a piece within a cell is that of the net it leads to; the next piece tells.
        if piece["type"] == "routing":
            name = signal_name(piece["net"])
        else:
            name = signal_name(piece["to"]["cell"])
        step = PathStep(name, piece["delay"], at, int(piece["type"] == "logic"))
        if steps and steps[-1].signal == name:
            last = steps.pop()
            step = PathStep(name, last.delay_ns + step.delay_ns, at, last.levels + step.levels)
        steps.append(step)
    return tuple(PathStep(s.signal, round(s.delay_ns, 3), round(s.at_ns, 3), s.levels) for s in steps)
