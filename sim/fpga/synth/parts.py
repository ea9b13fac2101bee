"""The area of every part of a unit: synthesis that keeps the hierarchy, without placement and routing.

The area can also be given in generic cells (:class:`sim.fpga.synth.report.Cells`), of the parts and of the whole unit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig

from ...build.verilog import Progress
from .flow import TOP
from .report import CLASH, Area, Cells, unit_module
from .tools import LOGS, cached, yosys
from .units import unit_text
from .wrapper import CORE, INNER

__all__ = ["Breakdown", "Part", "breakdown", "cells_of", "parts"]

_UNIT = f"{TOP}.{INNER}.{CORE}"
_MODULE = re.compile(r"^module \\(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """A part of a unit by its place in the hierarchy, ``lsu.misses``; the unit itself is ``""``.

    ``area`` includes everything in the part; ``own`` excludes the parts that have their own line.
    """

    path: str
    area: Area | Cells
    own: Area | Cells

    @property
    def depth(self) -> int:
        """0 for the unit, 1 for its parts, 2 for theirs."""
        return len(self.path.split(".")) if self.path else 0


@dataclass(frozen=True)
class Breakdown:
    """The parts, largest first, each followed by its own parts; and the file with all of yosys' output."""

    parts: list[Part]
    log: Path


#: The mapping of the parts, by the kind of count.
_MAPPING: dict[type[Area] | type[Cells], str] = {
    # Mapped for area by abc, not by abc9 as in flow.py, because the delays in other parts are unknown. abc9 also takes
    # longer, and fails on the hierarchy of an SM without splitnets before it (yosys issue 4349, "Assert
    # count_id(wire->name) == 0"). With abc9 the SM of TINY has 4.5 % more LUTs, and is otherwise the same.
    Area: f"synth_ecp5 -top {TOP} -nowidelut -run begin:map_luts; abc -lut 4; clean; "
          f"synth_ecp5 -top {TOP} -nowidelut -run map_cells:; check -assert",
    # synth, but memories are not mapped, because their bits are counted.
    Cells: f"synth -flatten -top {TOP} -run begin:fine; memory_unpack; opt -fast -full; techmap; opt -fast; abc; "
           "opt -fast; clean",
}


def _counted(text: str, kind: type[Area] | type[Cells], kept: Sequence[str], say: Progress) -> Path:
    """Return the folder with ``stat.json`` and yosys' log for RTLIL in which the modules ``kept`` are not flattened."""
    marks = " ".join(f"setattr -mod -set keep_hierarchy 1 {name};" for name in kept)
    script = f"read_rtlil top.il; hierarchy -check -top {TOP}; {marks} {_MAPPING[kind]}; tee -q -o stat.json stat -json"

    def make(folder: Path) -> None:
        say("count gates" if kind is Cells else "synthesize")
        (folder / "top.il").write_text(text)
        yosys(script, folder)

    return cached("parts" if kind is Area else "gates", (text, script), ("stat.json", LOGS["yosys"]), make)


def _statistics(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "stat.json").read_text())


def cells_of(text: str, progress: Progress) -> Cells:
    """Return the cells of the unit in its wrapper (:func:`sim.fpga.synth.flow.rtlil_of`), without the wrapper's own."""
    return Cells.of(unit_module(_statistics(_counted(text, Cells, [f"{TOP}.{INNER}"], progress))))


def parts(statistics: Mapping[str, Any], kind: type[Area] | type[Cells] = Area) -> list[Part]:
    """Return the parts in ``stat -json`` of yosys, largest first, each followed by its own parts.

    Parts with the same name, for example several unnamed ones, share one line.
    """
    own: dict[str, Any] = {}
    for name, module in statistics["modules"].items():
        if name.startswith(f"\\{_UNIT}"):
            path = CLASH.sub("", name.removeprefix(f"\\{_UNIT}").removeprefix("."))
            own[path] = own.get(path, kind()) + kind.of(module)
    whole = {
        path: sum((area for each, area in own.items() if not path or f"{each}.".startswith(f"{path}.")), kind())
        for path in own
    }

    def order(path: str) -> list[tuple[int, str]]:
        # A part follows those that contain it: sort by their sizes first.
        names = path.split(".") if path else []
        above = [".".join(names[: place + 1]) for place in range(len(names))]
        return [(-whole[each].size, each) for each in above]

    return [Part(path, whole[path], own[path]) for path in sorted(own, key=order)]


def breakdown(
    unit: str, config: SmConfig | GpuConfig, depth: int = 2, progress: Progress | None = None,
    kind: type[Area] | type[Cells] = Area,
) -> Breakdown:
    """Return the area of one unit of :data:`sim.fpga.synth.units.UNITS` and of its parts, ``depth`` levels deep.

    Logic that would be shared or removed across the boundaries of parts is counted, so the sum exceeds the unit's area
    in :func:`sim.fpga.synth.synthesize`. With ``kind`` :class:`Cells` the counts are of generic cells.

    Raises
    ------
    KeyError
        If the unit is unknown.
    SynthesisError
        If yosys fails.
    """
    say = progress or (lambda step: None)
    text = unit_text(unit, config, say)
    kept = [
        name for name in _MODULE.findall(text)
        if name == _UNIT or (name.startswith(f"{_UNIT}.") and name.removeprefix(f"{_UNIT}.").count(".") < depth)
    ]
    folder = _counted(text, kind, kept, say)
    return Breakdown(parts(_statistics(folder), kind), folder / LOGS["yosys"])
