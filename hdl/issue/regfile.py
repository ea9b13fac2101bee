"""The register file of all warps."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.decoded import Decoded
from ..layouts.events import write_event_layout
from ..lib.component import Component
from .scoreboard import REGISTERS

__all__ = ["RegisterFile"]


class RegisterFile(Component):
    """Integer and floating-point registers of every warp, one word per lane.

    One read of three registers and one write a cycle. A value written in cycle c is visible to reads addressed in c+1
    or later. Registers are not reset (in simulation and on an FPGA they start as 0).
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        lanes = data.ArrayLayout(32, config.threads)
        super().__init__({
            "warp": In(config.warp_bits),  # whose registers are read; in R (t+1)
            "decoded": In(Decoded),  # which ones; in R
            "rs1": Out(lanes),  # in t+2; 0 where the instruction has no such source
            "rs2": Out(lanes),  # in t+2; 0 where the instruction has no such source
            #: In t+2; where the instruction has no such source it keeps its value, so that later logic does not toggle.
            "rs3": Out(lanes),
            #: The register write of this cycle (W): the values of the lanes in its mask; x0 may not be written.
            "write": In(write_event_layout(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.registers = registers = Memory(
            shape=32 * config.threads, depth=REGISTERS << config.warp_bits, init=[],
        )
        write, value = registers.write_port(granularity=32), self.write.value
        m.d.comb += [
            write.addr.eq(Cat(value.rd, value.warp)),
            write.data.eq(value.data.as_value()),
            write.en.eq(Mux(self.write.valid, value.mask, 0)),
        ]
        info = self.decoded.info
        for source, used, out in ((info.rs1, info.use_rs1, self.rs1), (info.rs2, info.use_rs2, self.rs2)):
            read = registers.read_port()
            # An unused source is register number 0 (x0), which is never written and so holds 0.
            m.d.comb += [
                read.addr.eq(Cat(Mux(used, source, 0), self.warp)),
                read.en.eq(1),
                out.eq(read.data),
            ]
        read = registers.read_port()
        m.d.comb += [
            read.addr.eq(Cat(info.rs3, self.warp)),
            read.en.eq(info.use_rs3),
            self.rs3.eq(read.data),
        ]
        return m
