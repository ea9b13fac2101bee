"""The tools' reports, with the names of the source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from .families import DEFAULT_FAMILY, FAMILIES
from .tools import SynthesisError
from .wrapper import CORE, INNER, RAMS

__all__ = ["CLASH", "Area", "Cells", "PathStep", "Route", "SynthResult", "critical_path", "fmax", "signal_name",
           "unit_module", "utilization"]

#: Suffixes that yosys builds from a cell and its port: from the first of them on, a name is not from the source.
_MADE_UP = re.compile(
    r"(_(LUT[1-4]|PFUMX|L6MUX21|CCU2C?|TRELLIS_FF|TRELLIS_DPR16X4|TRELLIS_COMB|DP16KD|MULT18X18D"
    r"|FD1P3\w\w|DPR16X4|PDPSC16K|PDP16K|MULT18X36|MULT36X36|DFF[A-Z]*|ALU|RAM16SDP4|SDPX9B|MULT18X18)_|_\$|\$).*$"
)
#: Yosys' own flip-flops and latches.
_FLIP_FLOP = re.compile(r"\$_(S|AL)?(DFF|DLATCH|SR_)")
_BIT = re.compile(r"\[\d+\]$")
#: The suffix that Amaranth adds to a name already in use.
CLASH = re.compile(r"\$\d+(?=\.|_|\[|$)")


@dataclass(frozen=True)
class PathStep:
    """A segment of the critical path: the signal that it passes through, the nanoseconds up to its end, its LUTs."""

    signal: str
    delay_ns: float
    at_ns: float
    levels: int


class _Counts:
    """Additive counts of a part; the first one gives the size of the part."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(ours + theirs for ours, theirs in zip(self._values(), other._values(), strict=True)))

    def _values(self) -> tuple[int, ...]:
        return tuple(getattr(self, each.name) for each in fields(self))  # type: ignore[arg-type]  # those below

    @property
    def size(self) -> int:
        """The first count."""
        return self._values()[0]


@dataclass(frozen=True)
class Area(_Counts):
    """LUTs, flip-flops, block RAMs and multipliers, in the units of a family (:mod:`sim.fpga.synth.families`).

    On ECP5 they are 4-input LUT sites, DP16KD and MULT18X18D: a plain LUT is one site, a carry cell two, a 16x4
    distributed memory six.
    """

    luts: int = 0
    ffs: int = 0
    brams: int = 0
    dsps: int = 0

    @classmethod
    def of(cls, module: Mapping[str, Any], family: str = DEFAULT_FAMILY) -> Area:
        """Return the area of one module in ``stat -json`` of yosys, mapped to the family.

        Raises
        ------
        SynthesisError
            If a cell has no place in the family's counts.
        """
        cells, its = module.get("num_cells_by_type", {}), FAMILIES[family]
        if unknown := its.unknown(cells):
            raise SynthesisError(f"yosys made cells for {family} that have no area here: {', '.join(unknown)}")
        return cls(*(
            sum(count.weight(kind) * number for kind, number in cells.items())
            for count in (its.luts, its.ffs, its.brams, its.dsps)
        ))


@dataclass(frozen=True)
class Cells(_Counts):
    """The technology-independent size of a unit: gates of one or two inputs and multiplexers, flip-flops, memory bits.

    Multipliers count as gates, all memories as bits. A register at a memory's output counts as part of the memory.
    """

    gates: int = 0
    ffs: int = 0
    memory_bits: int = 0

    @classmethod
    def of(cls, module: Mapping[str, Any]) -> Cells:
        """Return the cells of one module in ``stat -json`` of yosys, mapped to yosys' own cells."""
        cells = {kind: count for kind, count in module.get("num_cells_by_type", {}).items() if kind.startswith("$_")}
        ffs = sum(count for kind, count in cells.items() if _FLIP_FLOP.match(kind))
        return cls(sum(cells.values()) - ffs, ffs, module.get("num_memory_bits", 0))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


@dataclass(frozen=True)
class Route:
    """The result of one placement: clock rate and critical path, or a ``problem``, one line with the reason.

    ``fmax_mhz`` is after routing, for the slowest process, voltage and temperature of the speed grade.
    ``utilization`` is kind of cell -> number used and number in the device, including the wrapper's. ``log`` is
    the file with all of nextpnr's output.
    """

    seed: int
    fmax_mhz: float | None = None
    critical_path: tuple[PathStep, ...] = ()
    utilization: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    problem: str | None = None
    log: Path | None = None

    @property
    def levels(self) -> int:
        """LUTs, carries and multiplexers along the critical path."""
        return sum(step.levels for step in self.critical_path)


@dataclass(frozen=True)
class SynthResult:
    """The area of a unit without its wrapper (:class:`Area`), and the result of each placement of the wrapped unit.

    ``cells`` are present if they were requested. ``log`` is the file with all of yosys' output.
    """

    unit: str
    luts: int
    ffs: int
    brams: int
    dsps: int
    cells: Cells | None = None
    routes: tuple[Route, ...] = ()
    log: Path | None = None

    @property
    def area(self) -> Area:
        """The area without the clock rates."""
        return Area(self.luts, self.ffs, self.brams, self.dsps)

    @property
    def rates(self) -> list[float]:
        """The clock rate in MHz of every routed placement, in seed order."""
        return [route.fmax_mhz for route in self.routes if route.fmax_mhz is not None]

    @property
    def best(self) -> Route | None:
        """The fastest placement; None if none was routed."""
        routed = [route for route in self.routes if route.fmax_mhz is not None]
        return max(routed, key=lambda route: route.fmax_mhz or 0.0, default=None)

    @property
    def spread(self) -> float | None:
        """Per cent by which the fastest seed exceeds the slowest; None with fewer than two."""
        return round(100 * (max(self.rates) / min(self.rates) - 1), 1) if len(self.rates) > 1 else None

    @property
    def problems(self) -> list[str]:
        """A line for every placement that was not fully routed."""
        return [f"seed {route.seed}: {route.problem}" for route in self.routes if route.problem is not None]

    def as_json(self) -> dict[str, Any]:
        """The document described in docs/fpga.md. Clock rate and path are those of the best seed."""
        best = self.best or Route(0)
        routed = self.best is not None
        return {
            "unit": self.unit, **asdict(self.area), "cells": None if self.cells is None else asdict(self.cells),
            "fmax_mhz": best.fmax_mhz,
            "critical_path": [asdict(step) for step in best.critical_path] if routed else None,
            "levels": best.levels if routed else None, "seed": best.seed if routed else None,
            "spread_percent": self.spread, "utilization": dict(best.utilization) if routed else None,
            "seeds": [
                {"seed": route.seed, "fmax_mhz": route.fmax_mhz, "levels": route.levels if route.fmax_mhz else None,
                 "problem": route.problem, "log": _text(route.log)}
                for route in self.routes
            ],
            "log": _text(self.log),
        }


def signal_name(net: str) -> str:
    """Return the hierarchical Amaranth name of a net of the netlist; for a net made by yosys, of the nearest signal."""
    name = _BIT.sub("", _MADE_UP.sub("", CLASH.sub("", net)))
    return name.removeprefix(f"{INNER}.").removeprefix(f"{RAMS}.").removeprefix(f"{CORE}.") or net


def unit_module(statistics: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the entry of the unit's own module, without its wrapper, in ``stat -json`` of yosys."""
    return statistics["modules"][f"\\top.{INNER}"]


def _clocked_path(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the path between two clock edges (others begin or end at pins)."""
    for path in report["critical_paths"]:
        if path["from"] == path["to"] and path["from"].startswith("posedge"):
            return path["path"]
    raise ValueError("the report of nextpnr has no path from clock edge to clock edge")


def fmax(report: dict[str, Any]) -> float:
    """Return the MHz of the single clock."""
    (clock,) = report["fmax"].values()
    return round(clock["achieved"], 2)


def utilization(report: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return kind of cell -> used and available, for the kinds that are used."""
    return {kind: dict(counts) for kind, counts in report.get("utilization", {}).items() if counts["used"]}


def critical_path(report: dict[str, Any]) -> tuple[PathStep, ...]:
    """Return the slowest path in nextpnr's ``--report``; consecutive pieces through one signal are merged."""
    steps: list[PathStep] = []
    at = 0.0
    for piece in _clocked_path(report):
        at += piece["delay"]
        # A piece within a cell has the name of the net that it leads to, which the next piece gives.
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
