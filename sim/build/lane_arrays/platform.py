"""A platform that makes arrays of the lanes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Value
from amaranth.lib import wiring

from metronome.hdl.lib.shared import SharedModules

from .netlist import Netlist, netlist_of
from .writer import array_ports, write_array

__all__ = ["LaneArrays"]


class LaneArrays(SharedModules):
    """As :class:`hdl.lib.shared.SharedModules`, with one instance in place of all lanes of a unit.

    Its modules are SystemVerilog, for Verilator, and have no names for what is inside a lane.
    """

    def lanes(self, m: Module, part: type[wiring.Component], count: int, arguments: dict[str, Any]) -> list[Any]:
        """Add the instance ``lanes`` to ``m``; return interfaces with the ports of each lane."""
        component = part(**arguments)
        netlist = netlist_of(component)
        name = self.unused_name(part)
        self.add(write_array(name, netlist, count))
        interfaces = [component.signature.create(path=(f"lane{i}",)) for i in range(count)]
        ports: list[tuple[str, str, Value]] = [("i", "clk", ClockSignal())]
        for values in zip(*(interface.signature.flatten(interface) for interface in interfaces), strict=True):
            ports += _ports(netlist, "__".join(map(str, values[0][0])), [Value.cast(value) for _, _, value in values])
        m.submodules.lanes = Instance(name, *ports)
        return interfaces


def _ports(netlist: Netlist, name: str, lanes: list[Value]) -> list[tuple[str, str, Value]]:
    """The array's ports for the port ``name``, which has a value for each lane."""
    if name in netlist.outputs:
        return [("o", name, Cat(lanes))]
    return [("i", port, Cat(lanes if bit is None else [lane[bit] for lane in lanes]))
            for port, bit in array_ports(name, len(netlist.inputs.get(name, [])))]
