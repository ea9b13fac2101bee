"""The host's registers as an AXI4-Lite slave."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In

from ..lib.component import Component
from .register_table import ADDRESS_BITS
from .registers import host_ports
from .signatures import axi_lite_signature

__all__ = ["AxiLiteControl"]

_OKAY, _SLVERR = 0, 2


class AxiLiteControl(Component):
    """Forwards accesses over ``axi`` to the registers (:func:`hdl.bus.registers.connect_host`).

    A read is answered two cycles after its address, or as soon as its register is ready. A write is answered two cycles
    after the later one of address and data, which arrive in any order. At most one of each is in progress. An access to
    an address without a register has no effect and is answered with SLVERR. A write to a read-only register has no
    effect. Readies and valids come from registers. Reset: idle.
    """

    def __init__(self) -> None:
        super().__init__({
            #: The bus (:func:`hdl.bus.signatures.axi_lite_wires`), seen from its slave.
            "axi": In(axi_lite_signature(address_bits=ADDRESS_BITS)),
            **{name: member.flip() for name, member in host_ports().items()},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axi = self.axi
        has_address, has_data, write, reading, read = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            axi.awready.eq(~has_address), axi.wready.eq(~has_data), axi.arready.eq(~reading & ~axi.rvalid),
            write.eq(has_address & has_data & ~axi.bvalid), read.eq(reading & self.read_ready),
            self.write.eq(write), self.read.eq(read),
        ]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [reading.eq(1), self.read_address.eq(axi.araddr[2:])]
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [has_address.eq(1), self.write_address.eq(axi.awaddr[2:])]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [
                has_data.eq(1), self.write_data.eq(axi.wdata), self.write_strobe.eq(axi.wstrb),
            ]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(write):
            m.d.sync += [
                has_address.eq(0), has_data.eq(0), axi.bvalid.eq(1),
                axi.bresp.eq(Mux(self.write_known, _OKAY, _SLVERR)),
            ]
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(read):
            m.d.sync += [
                reading.eq(0), axi.rvalid.eq(1), axi.rdata.eq(self.read_data),
                axi.rresp.eq(Mux(self.read_known, _OKAY, _SLVERR)),
            ]
        return m
