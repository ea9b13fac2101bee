"""The files of an export: the Verilog, the lists for the tools, and the documentation."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from metronome.hdl.config import WATCHING, SmConfig
from metronome.hdl.layouts.counters import TOTAL, counter_names
from metronome.hdl.presets import PRESETS
from metronome.hdl.verilog import TOP, FlatVerilog

from ...machine.settings import as_text, values_of
from .document import LICENCE, document, page

__all__ = ["INDEX", "canonical_command", "changed_files", "export_files"]

#: The file that lists the others.
INDEX = f"{TOP}.json"

#: Warnings of `verilator -Wall` that are switched off for Yosys' output, and the reason for each.
WAIVERS = {
    "DECLFILENAME": "all modules are in this one file",
    "VARHIDDEN": "a memory inside a module has the name of the instance outside",
    "UNUSEDSIGNAL": "each field of a record is a wire, whether it is read or not",
    "WIDTHEXPAND": "an operand is extended by the rules of Verilog",
    "WIDTHTRUNC": "the logical not of a vector",
    "CASEINCOMPLETE": "the result of a case statement is assigned before it",
    "PROCASSINIT": "a register starts at its reset value",
}


def canonical_command(preset: str, config: SmConfig, simulation: SmConfig | None, bus: str) -> str:
    """The command line that repeats the export, however ``config`` was requested."""
    usual, simulated = values_of(PRESETS[preset]), values_of(simulation or config)
    words = ["metronome", "verilog", "--preset", preset]
    for name, value in values_of(config).items():
        # The module has no observers, and its simulation variant has them, unless the user says otherwise.
        said = value or (simulation is not None and not simulated[name]) if name in WATCHING else value != usual[name]
        if said:
            words += ["--set", f"{name}={as_text(name, value)}"]
    words += ["--bus", bus] * (bus != "line") + ["--probe"] * (simulation is not None) + ["--output", "DIR"]
    return shlex.join(words)


def _counters(config: SmConfig, bus: str) -> str:
    """The counters by index, if a testbench reads them by index."""
    if config.all_counters or bus != "line":
        return ""
    return "".join(f"// counter_index {index}: {name}\n" for index, name in enumerate(counter_names())
                   if config.research_counters or name == TOTAL)


def _with_waivers(verilog: str) -> str:
    off = [f"/* verilator lint_off {name} */  // {why}\n" for name, why in WAIVERS.items()]
    return "".join(["/* verilator lint_save */\n", *off, verilog, "/* verilator lint_restore */\n"])


def _how(variants: list[str]) -> list[str]:
    """How to read the files, for the page."""
    lines = [f"- `{TOP}.v`: for synthesis, without the ports that only a simulation needs. It is self-contained."]
    if len(variants) > 1:
        lines.append(
            f"- `{TOP}_sim.v`: the same module with more ports, for simulation: the probe, and assertions as a vector. "
            "It behaves the same in every cycle. Use one of the two files, not both."
        )
    lists = " and ".join(f"`{name}.f`" for name in variants)
    return [
        *lines,
        f"- {lists}: a list of files, for `verilator -F {TOP}.f`, or, in this folder, `iverilog -g2005 -c {TOP}.f`.",
        f"- Yosys: `read_verilog {TOP}.v; hierarchy -check -top {TOP}; proc; check -assert`.",
        f"- `{INDEX}`: this page in machine-readable form, with the SHA-256 of each file.",
    ]


def export_files(
    config: SmConfig, simulation: SmConfig | None, *, preset: str, bus: str,
    verilog: Callable[[SmConfig, str], FlatVerilog],
) -> dict[str, bytes]:
    """Name -> content of every file of an export. Equal arguments give equal bytes, on any machine.

    Parameters
    ----------
    config
        The configuration to synthesize.
    simulation
        The same with the parts that only a simulation needs (probe, assertions, oracles), to export that too.
    verilog
        Makes the text for a configuration and a bus (:func:`hdl.verilog.generate_flat`).
    """
    command = canonical_command(preset, config, simulation, bus)
    variants = {TOP: config} | ({f"{TOP}_sim": simulation} if simulation is not None else {})
    head = f"// SPDX-License-Identifier: {LICENCE}\n// preset {preset}: {command}\n"
    texts = {}
    ports = {}
    for name, variant in variants.items():
        made = verilog(variant, bus)
        ports[name] = made.ports
        texts[f"{name}.v"] = f"{head}// its ports: {TOP}.md\n{_counters(variant, bus)}{_with_waivers(made.text)}"
        texts[f"{name}.f"] = f"{head}{name}.v\n"
    files = {name: text.encode() for name, text in texts.items()}

    def hashes() -> dict[str, str]:
        return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}

    what = document(
        config, simulation, preset=preset, command=command, bus=bus, ports=ports[TOP],
        simulation_ports=ports.get(f"{TOP}_sim", []),
    )
    files[f"{TOP}.md"] = page(what, _how(list(variants))).encode()
    what["files"] = hashes()
    files[INDEX] = (json.dumps(what, indent=2, allow_nan=False) + "\n").encode()
    return files


def changed_files(folder: Path, index: str = INDEX) -> list[str] | None:
    """Return the files of ``folder``, an earlier export, that differ from those written, and so should not be replaced.

    ``index`` is the file that lists the others. None if it is not an export. An empty folder has nothing to lose.
    """
    present = {path.name: path for path in folder.iterdir()}
    if not present:
        return []
    try:
        files = json.loads(present[index].read_text("utf-8"))["files"]
        if not isinstance(files, Mapping):
            return None
        foreign = [name for name in present if name != index and name not in files]
        return sorted(foreign + [
            name for name, digest in files.items()
            if name in present and hashlib.sha256(present[name].read_bytes()).hexdigest() != digest
        ])
    except (KeyError, ValueError, TypeError, IsADirectoryError):
        return None
