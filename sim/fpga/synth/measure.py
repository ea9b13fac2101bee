"""The area and speed of one unit: synthesis, then placement and routing with one seed or several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from metronome.hdl.config import SmConfig

from ...build.verilog import Progress
from . import report
from .flow import Options, netlist, place_and_route
from .parts import cells_of
from .tools import LOGS
from .units import unit_text

__all__ = ["synthesize"]


def _route(folder: Path, options: Options, progress: Progress) -> report.Route:
    routed = place_and_route(folder, options, progress)
    if routed.report is None:
        return report.Route(options.seed, problem=routed.problem, log=routed.log)
    return report.Route(
        options.seed, report.fmax(routed.report), report.critical_path(routed.report),
        report.utilization(routed.report), log=routed.log,
    )


def synthesize(
    unit: str, config: SmConfig, options: Sequence[Options] = (Options(),), progress: Progress | None = None,
    *, cells: bool = False,
) -> report.SynthResult:
    """Return the area of one unit of :data:`.units.UNITS`, with clock rate and critical path for each of ``options``.

    Without options, nothing is placed and routed. A placement that cannot be routed is not an error: its
    :class:`sim.fpga.synth.report.Route` reports it. With ``cells`` the unit's gates are also counted.

    Raises
    ------
    KeyError
        If the unit is unknown.
    SynthesisError
        If yosys fails.
    """
    say = progress or (lambda step: None)
    text = unit_text(unit, config, say)
    folder = netlist(text, say)
    area = report.Area.of(report.unit_module(json.loads((folder / "stat.json").read_text())))
    return report.SynthResult(
        unit=unit, **asdict(area), cells=cells_of(text, say) if cells else None, log=folder / LOGS["yosys"],
        routes=tuple(_route(folder, one, say) for one in options),
    )
