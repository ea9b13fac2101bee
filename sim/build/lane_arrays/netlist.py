"""One lane as a netlist of word-level cells: the JSON of Yosys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil  # type: ignore[attr-defined]  # the stubs lack it
from amaranth.lib import wiring

from metronome.hdl.lib.shared import own_yosys

__all__ = ["SHIFTS", "WORD_BITS", "Bit", "Cell", "Netlist", "Register", "netlists_of", "source_of"]

#: A port of this width is data. Enables are narrower.
WORD_BITS = 32

#: Cells whose second operand, the shift amount, is never negative.
SHIFTS = ("$shl", "$shr", "$sshr")

#: The number of a net, or a constant: "0", "1" or "x".
Bit = int | str

#: A register gets an enable if the process that writes it has one; a reset becomes part of its next value.
_PASSES = ("attrmap -modattr -remove top", "proc", "flatten", "opt_expr", "opt_clean", "opt_dff -nosdff", "opt_expr",
           "opt_merge", "opt_clean")
_CLOCK = ("clk", "rst")


@dataclass(frozen=True)
class Cell:
    """A combinational cell of Yosys' library: one output ``Y``."""

    name: str  # unique in the netlist, and a name in Verilog
    kind: str  # as Yosys has it, e.g. "$add"
    signed: bool  # all operands are two's complement; for a shift, the one that is shifted
    inputs: dict[str, list[Bit]]
    output: list[Bit]


@dataclass(frozen=True)
class Register:
    """A register that takes ``data`` at the end of a cycle in which ``enable`` is 1, and otherwise keeps its value."""

    name: str
    enable: Bit
    data: list[Bit]
    output: list[Bit]


@dataclass
class Netlist:
    """A lane: ports except for clock and reset, cells and registers. All words are lists of bits, the lowest first."""

    inputs: dict[str, list[Bit]]
    outputs: dict[str, list[Bit]]
    cells: dict[str, Cell] = field(default_factory=dict)
    registers: dict[str, Register] = field(default_factory=dict)
    #: The net -> its driver (the name of an input, a cell or a register), and the index of the bit in that.
    drivers: dict[int, tuple[str, int]] = field(default_factory=dict)

    def driving(self, bits: list[Bit]) -> Iterator[str]:
        """The names of the drivers of the bits that are not constant, each once."""
        yield from dict.fromkeys(self.drivers[bit][0] for bit in bits if isinstance(bit, int))


def source_of(component: wiring.Component, name: str) -> str:
    """Elaborate ``component``, a lane; return the source of :func:`netlists_of` for it, as module ``name``."""
    text: str = rtlil.convert(component, name=name, emit_src=False)
    return text


def netlists_of(sources: Mapping[str, str]) -> dict[str, Netlist]:
    """The netlists of the modules ``sources``, by their names, in one run of Yosys.

    Raises
    ------
    ValueError
        If a register has no enable, or one that is active low, or a reset: then the lane is never idle.
    """
    if not sources:
        return {}
    read = [f"read_rtlil <<rtlil\n{source}\nrtlil" for source in sources.values()]
    script = "\n".join([*read, *_PASSES, "write_json"])
    with own_yosys():
        # Amaranth has no public way to the Yosys that it brings.
        yosys = find_yosys(lambda version: version >= (0, 40))
    text = yosys.run(["-q", "-"], script, ignore_warnings=True)
    modules = json.loads(text[text.index("{"):])["modules"]
    return {name: _netlist(modules[name]) for name in sources}


def _netlist(module: dict[str, Any]) -> Netlist:
    ports = {name: port for name, port in module["ports"].items() if name not in _CLOCK}
    netlist = Netlist(*(
        {name: port["bits"] for name, port in ports.items() if port["direction"] == direction and port["bits"]}
        for direction in ("input", "output")))
    for name, bits in netlist.inputs.items():
        _drive(netlist, name, bits)
    found = [cell for cell in module["cells"].values() if cell["type"] != "$scopeinfo"]
    for number, cell in enumerate(found):
        if "ff" in cell["type"]:
            _add_register(netlist, f"q{number}", cell)
        else:
            _add_cell(netlist, f"c{number}", cell)
    _require_drivers(netlist)
    return netlist


def _require_drivers(netlist: Netlist) -> None:
    """Raise ValueError if something reads a net without a driver here, which is the reset."""
    words = [word for cell in netlist.cells.values() for word in cell.inputs.values()]
    words += [[register.enable, *register.data] for register in netlist.registers.values()]
    words += netlist.outputs.values()
    if any(isinstance(bit, int) and bit not in netlist.drivers for word in words for bit in word):
        raise ValueError("a lane with a reset is never idle")


def _drive(netlist: Netlist, name: str, bits: list[Bit]) -> None:
    netlist.drivers.update({bit: (name, position) for position, bit in enumerate(bits) if isinstance(bit, int)})


def _parameters(cell: dict[str, Any]) -> dict[str, int]:
    return {name: int(value, 2) for name, value in cell["parameters"].items() if set(value) <= {"0", "1"}}


def _add_register(netlist: Netlist, name: str, cell: dict[str, Any]) -> None:
    if cell["type"] != "$dffe" or not _parameters(cell)["EN_POLARITY"]:
        raise ValueError(f"a lane with a {cell['type']} without an enable that is active high is never idle")
    nets = cell["connections"]
    netlist.registers[name] = Register(name, nets["EN"][0], nets["D"], nets["Q"])
    _drive(netlist, name, nets["Q"])


def _add_cell(netlist: Netlist, name: str, cell: dict[str, Any]) -> None:
    parameters, nets = _parameters(cell), dict(cell["connections"])
    output = nets.pop("Y")
    signed = all(parameters.get(f"{port}_SIGNED", 0) for port in ("A" if cell["type"] in SHIFTS else nets))
    netlist.cells[name] = Cell(name, cell["type"], signed, nets, output)
    _drive(netlist, name, output)
