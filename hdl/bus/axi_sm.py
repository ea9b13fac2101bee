"""The SM with an AXI4 master and an AXI4-Lite slave: what a block design takes."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, DomainRenamer, Module
from amaranth.lib.wiring import In, Out

from ..config import LINE_BYTES, LINE_OFFSET_BITS, SmConfig
from ..lib.component import Component
from ..sm import Sm
from .axi import AxiMaster, require_axi
from .control import AxiLiteControl
from .register_table import ADDRESS_BITS
from .registers import ControlRegisters, connect_host
from .signatures import axi4_wires, axi_lite_wires
from .slots import slot_bits

__all__ = ["AxiSm"]

#: The clock domains of the buses and of the SM; a design around this one may have a `sync` of its own.
_OUTER, _INNER = "metronome_bus", "metronome_sm"


class AxiSm(Component):
    """A top level with flat ports: every wire of a bus is a port of its own, ``m_axi_awid``, ``s_axil_awaddr``, ...

    It has its own clock domain, ``clk`` with the synchronous reset ``rst``, and nothing of it is in the surrounding
    one. The host starts and resets the SM through registers (:mod:`hdl.bus.register_table`); while it is reset its
    requests are held back, and what is under way on the bus is waited for and thrown away. Parameters: as for
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
        """What the wires of the two buses say, by the port."""
        master, slave = axi4_wires(data_bits=64, id_bits=1), axi_lite_wires(address_bits=ADDRESS_BITS)
        return {f"{prefix}{wire.name}": wire.about for prefix, wires in (("m_axi_", master), ("s_axil_", slave))
                for wire in wires}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # Domains with the same clock signal: what goes from one to the other is as in one. Only the reset differs.
        outer, inner = ClockDomain(_OUTER, local=True), ClockDomain(_INNER, local=True)
        outer.clk = inner.clk = self.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        outer.rst = self.rst  # type: ignore[attr-defined]  # as above
        m.domains += [outer, inner]
        sm, master = Sm(self.config), AxiMaster(self.config, **self._sizes)
        registers = ControlRegisters(self.config)
        control = AxiLiteControl()
        connect_host(m, control, registers)
        parts = {"sm": sm, "master": master, "control": control, "registers": registers}
        for name, part in parts.items():
            m.submodules[name] = DomainRenamer(_INNER if part is sm else _OUTER)(part)
        held = registers.sm_reset
        m.d.comb += [
            inner.rst.eq(self.rst | held),  # type: ignore[attr-defined]  # as above
            master.port.request.valid.eq(sm.mem.req.valid & ~held),
            master.port.request.payload.eq(sm.mem.req.payload),
            sm.mem.req.ready.eq(master.port.request.ready & ~held),
            sm.mem.resp.valid.eq(master.port.response.valid & ~held),
            sm.mem.resp.payload.eq(master.port.response.payload),
            master.port.response.ready.eq(sm.mem.resp.ready | held),
            registers.idle.eq(~master.busy),
            self.irq.eq(registers.irq),
        ]
        self._registers(m, sm, registers)
        for prefix, wires, bus, drives in (
            ("m_axi_", self._master, master.axi, True), ("s_axil_", self._slave, control.axi, False),
        ):
            for wire in wires:
                port, inside = getattr(self, prefix + wire.name), getattr(bus, wire.name)
                m.d.comb += port.eq(inside) if wire.driven is drives else inside.eq(port)
        return m

    def _registers(self, m: Module, sm: Sm, registers: ControlRegisters) -> None:
        request = sm.mem.req
        exit_code = self.config.memory_map.exit_code
        place = exit_code % LINE_BYTES
        stores = request.valid & request.ready & request.payload.write
        m.d.comb += [
            sm.start.eq(registers.start), sm.start_pc.eq(registers.start_pc), sm.arg.eq(registers.arg),
            registers.busy.eq(sm.busy), registers.fault_valid.eq(sm.fault_valid), registers.fault.eq(sm.fault),
            sm.counter_index.eq(registers.counter_index),
            registers.counter_value.eq(sm.counter_value), registers.counter_valid.eq(sm.counter_valid),
            registers.exit_data.eq(request.payload.data[8 * place : 8 * place + 32]),
        ]
        with m.If(stores & (request.payload.line == exit_code >> LINE_OFFSET_BITS)):
            m.d.comb += registers.exit_mask.eq(request.payload.byte_mask[place : place + 4])
        for strap in ("policy", "fetch_policy"):
            if strap in sm.signature.members:
                m.d.comb += getattr(sm, strap).eq(getattr(registers, strap))
