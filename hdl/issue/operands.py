"""From a selected instruction to its operands: stages R (t+1) and X (t+2)."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.decoded import BufferEntry
from ..layouts.events import write_event_layout
from ..layouts.execute import operands_layout
from ..lib.component import Component
from .regfile import RegisterFile

__all__ = ["OperandStage"]


class OperandStage(Component):
    """Reads the registers of the instruction that was selected in t.

    Latency 2 cycles from the selection to X, one instruction a cycle, no stalls. Reset: nothing in flight.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "selected": In(1),  # an instruction, not a NOP, is selected in this cycle (t)
            "selected_warp": In(config.warp_bits),  # the warp of this instruction
            "entry": In(BufferEntry),  # the instruction; in R (t+1), from the buffers
            "reading_warp": Out(config.warp_bits),  # the warp in R; unchanged if R is empty
            "masks": In(data.ArrayLayout(config.threads, config.warps)),  # every warp's thread mask; read in R
            #: The register write of this cycle; seen by instructions that are in R in a later one.
            "write": In(write_event_layout(config)),
            "halt": In(1),  # the SM has stopped at a fault: the instruction in X has no effect
            "operands": Out(operands_layout(config)),  # the instruction in X (t+2), with its sources and thread mask
            "cancelled": Out(1),  # an instruction is in X and `halt` is set
            "busy": Out(1),  # R or X holds an instruction
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = RegisterFile(self._config)
        reading = Signal()
        valid = Signal()
        warp = Signal(self._config.warp_bits)
        mask = Signal(self._config.threads)
        entry = Signal(BufferEntry)
        m.d.sync += [reading.eq(self.selected), valid.eq(reading)]
        with m.If(self.selected):
            m.d.sync += self.reading_warp.eq(self.selected_warp)
        with m.If(reading):
            m.d.sync += [
                warp.eq(self.reading_warp),
                mask.eq(Array(self.masks[w] for w in range(self._config.warps))[self.reading_warp]),
                entry.eq(self.entry),
            ]
        m.d.comb += [
            registers.warp.eq(self.reading_warp),
            registers.decoded.eq(self.entry.decoded),
            registers.write.eq(self.write),
            self.busy.eq(reading | valid),
            self.operands.valid.eq(valid & ~self.halt),
            self.cancelled.eq(valid & self.halt),
            self.operands.warp.eq(warp),
            self.operands.mask.eq(mask),
            self.operands.entry.eq(entry),
            self.operands.rs1.eq(registers.rs1),
            self.operands.rs2.eq(registers.rs2),
            self.operands.rs3.eq(registers.rs3),
        ]
        return m
