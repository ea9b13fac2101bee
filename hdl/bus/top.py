"""An SM or a GPU on a bus: flat ports for every wire, shared by the top levels of all buses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..gpu.config import GpuConfig
from ..lib.component import Component
from .console import CONSOLE_DEPTH
from .hosted import add_hosted_sm
from .registers import connect_host
from .signatures import Wire

__all__ = ["CONSOLE_DEPTH", "BusSm", "Side", "common_ports"]


@dataclass(frozen=True)
class Side:
    """One of the two buses of a top level."""

    prefix: str  # of its ports
    wires: tuple[Wire, ...]  # as its master sees them
    is_master: bool  # whether the SM is the master

    def ports(self) -> dict[str, wiring.Member]:
        """A port for each wire."""
        return {self.prefix + wire.name: (Out if wire.driven is self.is_master else In)(wire.bits)
                for wire in self.wires}

    def connect(self, m: Module, top: Any, bus: Any) -> None:
        """Connect the ports of ``top`` to the bridge's ``bus``."""
        for wire in self.wires:
            port, inside = getattr(top, self.prefix + wire.name), getattr(bus, wire.name)
            m.d.comb += port.eq(inside) if wire.driven is self.is_master else inside.eq(port)


def common_ports() -> dict[str, wiring.Member]:
    """The ports that do not depend on the bus."""
    return {
        "clk": In(1),  # the only clock, rising edge
        "rst": In(1),  # synchronous reset
        "irq": Out(1),  # a run has ended: level, until the host clears it
    }


class BusSm(Component):
    """A top level with flat ports, in a clock domain of its own: ``clk`` with the synchronous reset ``rst``.

    The host starts and resets the SM through registers (:mod:`hdl.bus.register_table`). While the SM is in reset, its
    requests are held back, and answers that are still due on the bus are awaited and discarded. A GPU of several SMs
    has the same ports.

    Parameters
    ----------
    config
        Of the SM, or of the GPU.
    memory, host : Side
        The bus on which the SM is the master, and the one of its registers.
    console : int
        Characters that the console's queue holds; 0: none.
    """

    def __init__(self, config: SmConfig | GpuConfig, members: dict[str, wiring.Member], memory: Side, host: Side,
                 console: int) -> None:
        self.config = config
        self._memory, self._host, self._console = memory, host, console
        super().__init__(members)

    def bridges(self) -> tuple[Any, Any, Any, Any]:
        """The bridge of the memory port and its bus, and the slave of the registers and its bus."""
        raise NotImplementedError

    @staticmethod
    def meanings_of(sides: Iterable[Side]) -> dict[str, str]:
        """The meaning of each wire, by its port."""
        return {side.prefix + wire.name: wire.about for side in sides for wire in side.wires}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        master, memory, control, host = self.bridges()
        _, registers = add_hosted_sm(
            m, self.config, {"master": master, "control": control}, clk=self.clk, rst=self.rst, port=master.port,
            idle=~master.busy, console=self._console,
        )
        connect_host(m, control, registers)
        m.d.comb += self.irq.eq(registers.irq)
        self._memory.connect(m, self, memory)
        self._host.connect(m, self, host)
        return m
