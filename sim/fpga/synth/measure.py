"""The area and speed of one unit: synthesis, then placement and routing with one seed or several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig

from ...build.verilog import Progress
from . import report
from .families import Target, target_of
from .flow import Options, netlist, place_and_route
from .parts import cells_of
from .tools import LOGS
from .units import unit_text

__all__ = ["synthesize"]


def too_large(area: report.Area, target: Target) -> str | None:
    """Return the resources of which a unit needs more than the device has, as one line; None if it may fit."""
    if target.device is None:
        return None
    device = target.family.devices[target.device]
    names = (("luts", "LUTs"), ("ffs", "FFs"), ("brams", "block RAMs"), ("dsps", "DSPs"))
    more = [f"{getattr(area, name)} {text}, and the device has {getattr(device, name)}"
            for name, text in names if getattr(area, name) > getattr(device, name)]
    return f"the design does not fit {device.part}: {'; '.join(more)}" if more else None


def _route(folder: Path, options: Options, progress: Progress) -> report.Route:
    routed = place_and_route(folder, options, progress)
    if routed.report is None:
        return report.Route(options.seed, problem=routed.problem, log=routed.log)
    return report.Route(
        options.seed, report.fmax(routed.report), report.critical_path(routed.report),
        report.utilization(routed.report), log=routed.log,
    )


def synthesize(
    unit: str, config: SmConfig | GpuConfig, options: Sequence[Options] = (Options(),),
    progress: Progress | None = None, *, cells: bool = False, target: Target | None = None,
) -> report.SynthResult:
    """Return the area of one unit of :data:`.units.UNITS`, with clock rate and critical path for each of ``options``.

    Without options, nothing is placed and routed. A placement that cannot be routed is not an error: its
    :class:`sim.fpga.synth.report.Route` reports it. So does that of a unit that alone exceeds the ``target``, whose
    family must be that of the options (default: the largest ECP5). With ``cells`` the unit's gates are also counted.

    Raises
    ------
    KeyError
        If the unit is unknown.
    SynthesisError
        If yosys fails.
    """
    say = progress or (lambda step: None)
    target = target or target_of()
    text = unit_text(unit, config, say)
    folder = netlist(text, say, target.family.name)
    statistics = json.loads((folder / "stat.json").read_text())
    area = report.Area.of(report.unit_module(statistics), target.family.name)
    problem = too_large(area, target)
    return report.SynthResult(
        unit=unit, **asdict(area), cells=cells_of(text, say) if cells else None, log=folder / LOGS["yosys"],
        routes=tuple(_route(folder, one, say) if problem is None else report.Route(one.seed, problem=problem)
                     for one in options),
    )
