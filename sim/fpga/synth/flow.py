"""The synthesis flow, RTLIL of a unit -> yosys -> nextpnr; each step is cached by the content of its inputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil  # type: ignore[attr-defined]  # the stubs lack this module
from amaranth.hdl import Elaboratable, Value
from amaranth.lib import wiring

from metronome.hdl.lib.collector import collector_paused

from ...build.verilog import Progress
from .families import DEFAULT_FAMILY, FAMILIES, Target
from .tools import LOGS, SynthesisError, ToolTimeout, cached, tool, wheel_version, yosys
from .wrapper import INNER, RAMS, Registered

__all__ = ["ALONE", "PLACERS", "ROUTERS", "TOP", "Options", "Routed", "mapping", "netlist", "options_for",
           "place_and_route", "rtlil_of", "rtlil_text"]

#: The top module for synthesis: the wrapper of the unit.
TOP = "top"
#: A pattern of yosys for modules that are mapped by themselves, so that the depth of a path in them does not depend on
#: other modules: abc9 makes every path as deep as the longest one. Wires make the path through the comparison of tags
#: the longest one of a routed front end.
ALONE = "*.comparison"


def mapping(top: str, module: str) -> str:
    """Return yosys commands that map the hierarchy below ``top`` to cells; all cells except LUTs are in ``module``."""
    return (
        # synth_ecp5 with another wire delay for abc9: 1 ns, as on routed paths here, instead of 0.2. To save area, abc9
        # makes every path as deep as the longest one allows, and it takes the path out of a block RAM (5.7 ns) for the
        # longest, which it is not. So block RAMs are in a separate module, whose contents abc9 does not see. Only
        # LUT4s: the wider ones, made of neighbouring LUTs, are no faster here, larger, and slow to route.
        f"setattr -mod -set keep_hierarchy 1 {ALONE}; synth_ecp5 -top {top} -nowidelut -run begin:map_luts; "
        # The nets are split first: abc9 of yosys 0.70 fails on some that submod has cut in two.
        f"cd {module}; splitnets; submod -name {RAMS} t:DP16KD; cd; setattr -mod -set blackbox 1 {RAMS}; "
        # The second of abc9's own scripts: the third is smaller in some units by 1 %, and slower by up to 10 %.
        "scratchpad -copy abc9.script.flow2 abc9.script; "
        f"abc9 -maxlut 4 -W 1000; setattr -mod -unset blackbox ={RAMS}; "
        f"setattr -mod -unset keep_hierarchy {ALONE}; clean; flatten; "
        f"synth_ecp5 -top {top} -nowidelut -run map_cells:"
    )


def _yosys_script(family: str, cells: bool) -> str:
    to_cells = FAMILIES[family].script
    if to_cells:
        to_cells = f"{to_cells.format(top=TOP)}; write_json top.json"
    else:
        to_cells = f"{mapping(TOP, f'{TOP}.{INNER}')} -json top.json"
    return (
        # synth_ecp5 checks the hierarchy once it has read the cells of the family.
        f"read_rtlil top.il; hierarchy {'' if cells else '-check '}-top top; "
        # The unit keeps its boundary, to separate its area from the wrapper's; inside it, everything is flattened.
        f"setattr -mod -set keep_hierarchy 1 {TOP}.{INNER}; {to_cells}; check -assert; tee -q -o stat.json stat -json"
    )


_NETLIST, _STATISTICS = "top.json", "stat.json"
_REPORT, _TEXTCFG, _OUTCOME = "report.json", "top.config", "outcome.json"
_PIN_FILE = "pins.lpf"


#: nextpnr's placers, the default first. ``static`` moves all cells at once, which gives shorter wires in a large
#: design with many block RAMs.
PLACERS = ("heap", "static")
#: nextpnr's routers, the default first. ``router2`` lets nets share wires at first and then negotiates.
ROUTERS = ("router1", "router2")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options for placing and routing.

    The router may never finish, if the target rate is far too high for the design, or from some placements at any
    rate: it is stopped after ``minutes``.
    """

    #: The target clock rate in MHz.
    freq: float = 60.0
    family: str = DEFAULT_FAMILY
    #: The speed grade: 6, 7 or 8 for ECP5.
    speed: int = 6
    #: nextpnr's seed for placement.
    seed: int = 1
    minutes: float = 30.0
    #: nextpnr's placer: one of :data:`PLACERS`.
    placer: str = "heap"
    #: nextpnr's router for ECP5: one of :data:`ROUTERS`.
    router: str = "router1"
    #: The device, as nextpnr names it; for ECP5 12k, 25k, 45k, 85k, um-25k, ..., um5g-85k.
    device: str = "85k"
    package: str = "CABGA756"
    #: The text of a file with the pin locations (LPF, PDC or CST); without one nextpnr chooses them (ECP5 only).
    constraints: str = ""
    #: The chip of the device, if the family's nextpnr needs it (Gowin).
    chip: str = ""
    #: Whether to write the configuration from which ecppack makes a bitstream.
    textcfg: bool = False


@dataclass(frozen=True)
class Routed:
    """The result of placing and routing.

    ``report`` is nextpnr's; if it is None, ``problem`` gives the reason in one line. ``log`` is the file with
    all of its output, ``textcfg`` the configuration for ecppack if it was requested.
    """

    report: dict[str, Any] | None
    log: Path
    textcfg: Path | None = None
    problem: str | None = None


def options_for(target: Target, **others: Any) -> Options:
    """Return the options for placing and routing a wrapped unit on a target of a family that nextpnr knows.

    ``others`` are further fields of :class:`Options`: ``freq``, ``seed``, ``minutes``, ``placer``.
    """
    device = target.family.devices[target.device or ""]
    pins = dict(zip(_PINS, device.packages[target.package or ""], strict=False))
    return Options(
        family=target.family.name, device=device.nextpnr, package=target.package or "", speed=target.grade or 0,
        chip=device.chip, constraints="".join(_PIN_LINE[target.family.name].format(*pin) for pin in pins.items()),
        **others,
    )


#: The wrapper's ports, in the order of the pins of :class:`sim.fpga.synth.families.Device`.
_PINS = ("clk", "rst", "scan_in", "scan_out")
#: For each family whose pins nextpnr does not choose: a line that gives a port its pin.
_PIN_LINE = {"ecp5": "", "nexus": "ldc_set_location -site {{{1}}} [get_ports {0}]\n", "gowin": 'IO_LOC "{0}" {1};\n'}


def netlist(text: str, progress: Progress, family: str = DEFAULT_FAMILY, *, cells: bool = False) -> Path:
    """Return the folder with ``top.json``, ``stat.json`` and ``yosys.log``.

    ``text`` is RTLIL whose top module is ``top``, the unit ``top.unit``. ``cells``: ``top`` has cells of the ECP5.

    Raises
    ------
    SynthesisError
        If yosys rejects it.
    """
    script = _yosys_script(family, cells)

    def make(folder: Path) -> None:
        progress("synthesize" if family == DEFAULT_FAMILY else f"synthesize, {family}")
        (folder / "top.il").write_text(text)
        yosys(script, folder)

    return cached("netlist", (text, script), (_NETLIST, _STATISTICS, LOGS["yosys"]), make)


def _device_arguments(options: Options) -> list[str]:
    """Return nextpnr's options that name the device, and the file with the pins."""
    device = options.device.format(package=options.package, grade=options.speed)
    match options.family:
        case "nexus":
            return ["--device", device, "--pdc", _PIN_FILE]
        case "gowin":
            return ["--device", device, "--vopt", f"family={options.chip}", "--vopt", f"cst={_PIN_FILE}"]
    return [f"--{device}", "--package", options.package, "--speed", str(options.speed)]


def _arguments(options: Options) -> list[str]:
    pins = ["--lpf", _PIN_FILE] if options.constraints else ["--lpf-allow-unconstrained"]
    return [
        *_device_arguments(options), "--json", _NETLIST,
        "--freq", str(options.freq), "--seed", str(options.seed), "--timing-allow-fail", "--report", _REPORT,
        *(pins if options.family == DEFAULT_FAMILY else []),
        *(["--textcfg", _TEXTCFG] if options.textcfg else []),
        # An option at its default is omitted, so that results cached before it existed remain valid.
        *(["--placer", options.placer] if options.placer != PLACERS[0] else []),
        *(["--router", options.router] if options.router != ROUTERS[0] else []),
    ]


def _outcome(folder: Path) -> dict[str, Any]:
    """Return the result in the cache entry; empty if it is missing or damaged."""
    try:
        return dict(json.loads((folder / _OUTCOME).read_text()))
    except (OSError, ValueError):
        return {}


def _without_constant_carries(design: bytes) -> bytes:
    """Return a netlist for Nexus in which no carry chain begins with a constant.

    abc9 connects the open carry input of a chain's first cell to a constant, which nextpnr-nexus refuses (yosys issue
    4081). The first cell ignores that input.
    """
    document = json.loads(design)
    for module in document["modules"].values():
        cells = module["cells"].values()
        constant = {"0", "1", "x"} | {
            bit for cell in cells if cell["type"] in ("VLO", "VHI") for bit in cell["connections"]["Z"]
        }
        for cell in cells:
            carry = cell["connections"].get("CIN", []) if cell["type"] == "CCU2" else []
            if carry and carry[0] in constant:
                del cell["connections"]["CIN"], cell["port_directions"]["CIN"]
    return json.dumps(document).encode()


def place_and_route(source: Path, options: Options, progress: Progress) -> Routed:
    """Place and route the netlist ``source``/top.json.

    If nextpnr rejects it (an unreadable netlist, or a design that does not fit the device) or does not finish, that is
    not an error: the result reports it. A run that did not finish is not repeated with the same or fewer minutes.
    """
    design = (source / _NETLIST).read_bytes()
    arguments = _arguments(options)
    router = FAMILIES[options.family].router
    if router is None:
        raise ValueError(f"{options.family} has no placement and routing")
    log_name = f"{router.name}.log"

    def make(folder: Path) -> None:
        progress(f"place and route, seed {options.seed}")
        (folder / _NETLIST).write_bytes(_without_constant_carries(design) if options.family == "nexus" else design)
        (folder / _PIN_FILE).write_text(options.constraints)
        outcome: dict[str, Any] = {"problem": None}
        try:
            tool(router.module, router.function, arguments, folder, log=log_name, minutes=options.minutes)
        except ToolTimeout as error:
            outcome = {"problem": str(error), "minutes": options.minutes}
        except SynthesisError as error:
            outcome = {"problem": str(error).partition("\n")[0]}
        (folder / _OUTCOME).write_text(json.dumps(outcome))

    def is_whole(folder: Path) -> bool:
        outcome = _outcome(folder)
        return "problem" in outcome and (outcome["problem"] is None or outcome.get("minutes", 0) >= options.minutes)

    files = (_OUTCOME, _REPORT, _TEXTCFG, log_name)
    content: tuple[object, ...] = (hashlib.sha256(design).hexdigest(), arguments, options.constraints)
    if options.family != DEFAULT_FAMILY:  # whose version is in every key
        content = (*content, router.wheel, wheel_version(router.wheel))
    made = cached("route", content, files, make, is_whole)
    problem, log = _outcome(made)["problem"], made / log_name
    if problem is not None:
        return Routed(None, log, problem=problem)
    return Routed(json.loads((made / _REPORT).read_text()), log, made / _TEXTCFG if options.textcfg else None)


def rtlil_text(top: Elaboratable, name: str, ports: Sequence[Value] | None = None) -> str:
    """Return RTLIL of ``top`` as module ``name``; by default a component's ports are those of its signature."""
    # Without source positions, so that the text, and the cache key, is the same in every checkout.
    with collector_paused():
        return rtlil.convert(top, name=name, ports=ports, emit_src=False)


def rtlil_of(unit: wiring.Component, open_ports: frozenset[str]) -> str:
    """Return RTLIL of the unit in its wrapper, for yosys."""
    wrapper = Registered(unit, open_ports)
    return rtlil_text(wrapper, TOP, ports=[wrapper.scan_in, wrapper.scan_out])
