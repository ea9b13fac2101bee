"""The documentation of exported Verilog: everything that a user must know about the module, as JSON and as a page."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterable, Sequence
from typing import Any

from metronome.hdl.bus.flat import FlatPort
from metronome.hdl.bus.register_table import register_table
from metronome.hdl.config import FaultCause, SmConfig
from metronome.hdl.gpu.config import GpuConfig, sm_config
from metronome.hdl.layouts.counters import COUNTER_BITS, built_counters, counter_names, counter_places
from metronome.hdl.layouts.probe import ASSERTIONS
from metronome.hdl.verilog import inside_of, top_of

from ...machine.gpu_settings import GPU_ABOUT, gpu_values
from ...machine.settings import FIELDS, values_of
from .meanings import meaning_of, port_meanings

__all__ = ["LICENCE", "Document", "document", "page"]

LICENCE = "Apache-2.0"

#: The JSON document; docs/verilog.md lists its fields.
Document = dict[str, Any]

_CLOCK = (
    {"name": "clk", "direction": "in", "width": 1, "about": "the only clock, rising edge"},
    {"name": "rst", "direction": "in", "width": 1, "about": "synchronous reset, active high"},
)


#: How the name of a port of one SM of a GPU begins.
_OF_SM = re.compile(r"^sm_\d+_")


def _counter_rows() -> dict[str, dict[str, Any]]:
    """Name of each counter's port, if it has one of its own -> its description in the JSON."""
    rows = {}
    for index, (name, (counter, reason)) in enumerate(zip(counter_names(), counter_places(), strict=True)):
        numbers = {reason: number for number, reason in counter.numbers()}
        about = f"{counter.about.split(',')[0]}: {reason.about}" if reason else counter.about
        if counter.oracle:
            about += "; 0 in a build without oracles"
        rows[f"counter_{name}"] = {
            "name": name, "index": index, "width": COUNTER_BITS, "csr": numbers.get(reason), "about": about,
        }
    return rows


def _ports(
    config: SmConfig | GpuConfig, ports: Sequence[FlatPort], bus: str, counters: dict[str, dict[str, Any]],
) -> list[dict[str, Any]]:
    """Name, direction, width and meaning of every port."""
    meanings = port_meanings(inside_of(config, bus))
    listed = {port.name for port in ports}
    rows: list[dict[str, Any]] = [dict(row) for row in _CLOCK if row["name"] not in listed]
    for port in ports:
        counter = counters.get(_OF_SM.sub("", port.name))
        about = counter["about"] if counter else meaning_of(port.path, meanings)
        direction = "in" if port.is_input else "out"
        rows.append({"name": port.name, "direction": direction, "width": port.width, "about": about})
    return rows


def _plain_value(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else list(value) if isinstance(value, tuple) else value


def document(
    config: SmConfig | GpuConfig, simulation: SmConfig | GpuConfig | None, *, preset: str, command: str, bus: str,
    ports: Sequence[FlatPort], simulation_ports: Sequence[FlatPort],
) -> Document:
    """Describe the module of ``config`` and, if that is exported too, its variant for simulation.

    The hashes of the files are left to be filled in.

    Parameters
    ----------
    command
        The command line that writes the same files again.
    ports, simulation_ports
        Those of the module of ``config``, and of ``simulation``, without clock and reset.
    """
    counters, sm = _counter_rows(), config.sm if isinstance(config, GpuConfig) else config
    own = _ports(config, ports, bus, counters)
    names = {row["name"] for row in own}
    more = _ports(config, simulation_ports, bus, counters)
    rows = [
        *({**row, "simulation_only": False} for row in own),
        *({**row, "simulation_only": True} for row in more if row["name"] not in names),
    ]
    fields = {
        name: {"value": _plain_value(value), "unit": FIELDS[name].unit, "about": FIELDS[name].about}
        for name, value in values_of(sm).items()
    }
    if isinstance(config, GpuConfig):
        fields |= {name: {"value": value, "unit": None, "about": GPU_ABOUT[name]}
                   for name, value in gpu_values(config).items()}
    return {
        "licence": LICENCE, "preset": preset, "command": command, "module": top_of(config), "bus": bus,
        "config": {name: row for name, row in fields.items() if not name.startswith("memory_map.")},
        "memory_map": {
            name.removeprefix("memory_map."): row for name, row in fields.items() if name.startswith("memory_map.")
        },
        "ports": rows,
        "counters": [
            {**row, "port": port if port in names else None} for port, row in counters.items()
            if row["name"] in built_counters(research=sm.research_counters)
        ],
        "registers": [dataclasses.asdict(row) for row in register_table(config)] if bus != "line" else [],
        "fault_causes": [
            {"code": int(cause), "name": cause.name.lower(), "about": cause.about} for cause in FaultCause
        ],
        "assertions": list(ASSERTIONS) if simulation is not None and sm_config(simulation).assertions else [],
        "files": {},
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in cells), ""]


def _shown(row: dict[str, Any]) -> str:
    value = row["value"]
    if row["unit"] == "address":
        return f"{value:#010x}"
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)


def _port_rows(what: Document, simulation_only: bool) -> list[list[object]]:
    return [
        [f"`{row['name']}`", row["direction"], row["width"], row["about"]]
        for row in what["ports"] if row["simulation_only"] is simulation_only
    ]


def page(what: Document, files: Sequence[str], simulation: Sequence[str]) -> str:
    """The document as Markdown; ``files`` and ``simulation`` are the lines of these two sections."""
    fields = [(f"`{name}`", _shown(row), row["unit"] or "", row["about"]) for name, row in what["config"].items()]
    places = [(f"`{name}`", _shown(row), row["unit"], row["about"]) for name, row in what["memory_map"].items()]
    counters = [
        (row["index"], f"`{row['name']}`", "" if row["csr"] is None else f"{row['csr']:#05x}", row["about"])
        for row in what["counters"]
    ]
    lines = [
        f"<!-- SPDX-License-Identifier: {what['licence']} -->",
        f"<!-- preset {what['preset']}: {what['command']} -->", "",
        f"# {what['module']}, preset {what['preset']}", "",
        f"This folder was written by `{what['command']}`.", "",
        "## Files", "", *files, "", "## Simulation", "", *simulation, "",
        "## Ports", "", *_table(("port", "direction", "width", "meaning"), _port_rows(what, False)),
    ]
    if observed := _port_rows(what, True):
        lines += [
            f"Only `{what['module']}_sim.v` has these. The first element of an array is in the lowest bits.", "",
            *_table(("port", "direction", "width", "meaning"), observed),
            "Bits of `assertions`:", "",
            *_table(("bit", "condition that must never occur"), enumerate(what["assertions"])),
        ]
    if what["registers"]:
        rows = [(f"{row['offset']:#05x}", f"`{row['name']}`", row["bits"], row["access"], row["about"])
                for row in what["registers"]]
        lines += ["## Registers of the host", "", *_table(("offset", "register", "bits", "access", "meaning"), rows)]
    lines += [
        "## Memory map", "", *_table(("place", "value", "unit", "meaning"), places),
        "## Counters", "", f"Each has {COUNTER_BITS} bits. The CSR is that of the low half, which a program reads.", "",
        *_table(("index", "name", "CSR", "counts"), counters),
        "## Fault causes", "", *_table(
            ("code", "name", "meaning"), ((row["code"], row["name"], row["about"]) for row in what["fault_causes"])
        ),
        "## Configuration", "", *_table(("field", "value", "unit", "meaning"), fields),
    ]
    return "\n".join(lines).rstrip() + "\n"
