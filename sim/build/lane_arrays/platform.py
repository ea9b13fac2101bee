"""A platform that makes arrays of the lanes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Instance, Module, Value
from amaranth.lib import wiring

from metronome.hdl.lib.shared import SharedModules

from .netlist import netlists_of, source_of
from .writer import array_ports, write_array

__all__ = ["LaneArrays"]


class LaneArrays(SharedModules):
    """As :class:`hdl.lib.shared.SharedModules`, with one instance in place of all lanes of a unit.

    Its modules are SystemVerilog, for Verilator, and have no names for signals inside a lane.
    """

    def __init__(self, *, prefix: str) -> None:
        super().__init__(prefix=prefix)
        #: By module: the source of a lane, and the number of lanes.
        self._lanes: dict[str, tuple[str, int]] = {}

    @property
    def text(self) -> str:
        """The text of all modules. Raises ValueError if a lane is never idle (:mod:`.netlist`, :mod:`.order`)."""
        netlists = netlists_of({name: source for name, (source, _) in self._lanes.items()})
        arrays = [write_array(name, netlists[name], count) for name, (_, count) in self._lanes.items()]
        return super().text + "".join(arrays)

    def lanes(self, m: Module, part: type[wiring.Component], count: int, arguments: dict[str, Any]) -> list[Any]:
        """Add the instance ``lanes`` to ``m``; return interfaces with the ports of each lane."""
        component = part(**arguments)
        name = self.unused_name(part)
        self._lanes[name] = source_of(component, name), count
        interfaces = [component.signature.create(path=(f"lane{i}",)) for i in range(count)]
        ports: list[tuple[str, str, Value]] = [("i", "clk", ClockSignal())]
        for members in zip(*(interface.signature.flatten(interface) for interface in interfaces), strict=True):
            path, member, _ = members[0]
            values = [Value.cast(value) for _, _, value in members]
            ports += _ports("__".join(map(str, path)), values, is_input=member.flow is wiring.In)
        m.submodules.lanes = Instance(name, *ports)
        return interfaces


def _ports(name: str, lanes: list[Value], *, is_input: bool) -> list[tuple[str, str, Value]]:
    """The array's ports for the port ``name``, which has a value for each lane."""
    if not is_input:
        return [("o", name, Cat(lanes))]
    return [("i", port, Cat(lanes if bit is None else [lane[bit] for lane in lanes]))
            for port, bit in array_ports(name, len(lanes[0]))]
