"""The SM with an AXI4 master and an AXI4-Lite slave, for block designs."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.component import Component
from .axi import AxiMaster, require_axi
from .control import AxiLiteControl
from .hosted import add_hosted_sm
from .register_table import ADDRESS_BITS
from .registers import connect_host
from .signatures import axi4_wires, axi_lite_wires
from .slots import slot_bits

__all__ = ["AxiSm"]


class AxiSm(Component):
    """A top level with flat ports: every wire of a bus is a port of its own, ``m_axi_awid``, ``s_axil_awaddr``, ...

    It has its own clock domain, ``clk`` with the synchronous reset ``rst``, and uses no surrounding one. The host
    starts and resets the SM through registers (:mod:`hdl.bus.register_table`). While the SM is in reset, its requests
    are held back, and answers that are still due on the bus are awaited and discarded. Parameters: as for
    :class:`hdl.bus.axi.AxiMaster`.
    """

    def __init__(self, config: SmConfig, *, data_bits: int = 64, reads: int = 16, writes: int = 16) -> None:
        require_axi(data_bits, reads, writes)
        self.config = config
        self._sizes = {"data_bits": data_bits, "reads": reads, "writes": writes}
        self._master = axi4_wires(data_bits=data_bits, id_bits=slot_bits(max(reads, writes)))
        self._slave = axi_lite_wires(address_bits=ADDRESS_BITS)
        members = {
            "clk": In(1),  # the only clock, rising edge
            "rst": In(1),  # synchronous reset
            #: Memory: the wires of the master.
            **{f"m_axi_{wire.name}": (Out if wire.driven else In)(wire.bits) for wire in self._master},
            #: The host: the wires of the slave.
            **{f"s_axil_{wire.name}": (In if wire.driven else Out)(wire.bits) for wire in self._slave},
            #: A run has ended: level, until the host clears it.
            "irq": Out(1),
        }
        super().__init__(members)

    @staticmethod
    def meanings() -> dict[str, str]:
        """The meaning of each wire of the two buses, by its port."""
        master, slave = axi4_wires(data_bits=64, id_bits=1), axi_lite_wires(address_bits=ADDRESS_BITS)
        return {f"{prefix}{wire.name}": wire.about for prefix, wires in (("m_axi_", master), ("s_axil_", slave))
                for wire in wires}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        master, control = AxiMaster(self.config, **self._sizes), AxiLiteControl()
        _, registers = add_hosted_sm(
            m, self.config, {"master": master, "control": control}, clk=self.clk, rst=self.rst, port=master.port,
            idle=~master.busy,
        )
        connect_host(m, control, registers)
        m.d.comb += self.irq.eq(registers.irq)
        for prefix, wires, bus, drives in (
            ("m_axi_", self._master, master.axi, True), ("s_axil_", self._slave, control.axi, False),
        ):
            for wire in wires:
                port, inside = getattr(self, prefix + wire.name), getattr(bus, wire.name)
                m.d.comb += port.eq(inside) if wire.driven is drives else inside.eq(port)
        return m
