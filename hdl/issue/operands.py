"""From a selected instruction to its operands: stages R (t+1) and X (t+2)."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.decoded import BufferEntry
from ..layouts.execute import operands_layout, writeback_layout
from .regfile import RegisterFile

__all__ = ["OperandStage"]


class OperandStage(wiring.Component):
    """Reads the registers of the instruction that was selected in t.

    ``selected`` (not a NOP) and ``selected_warp`` in t, ``entry`` in t+1; ``operands`` in t+2 with the warp's thread
    mask. ``reading_warp``: the warp in R. ``write``: the register write of this cycle, seen by instructions whose t+1
    comes later. ``halt`` (a fault): what is in X is ``cancelled`` instead of valid. ``busy``: R or X holds an
    instruction. Reset: nothing in flight.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "selected": In(1),
            "selected_warp": In(config.warp_bits),
            "entry": In(BufferEntry),
            "reading_warp": Out(config.warp_bits),
            "masks": In(data.ArrayLayout(config.threads, config.warps)),
            "write_valid": In(1),
            "write": In(writeback_layout(config)),
            "halt": In(1),
            "operands": Out(operands_layout(config)),
            "cancelled": Out(1),
            "busy": Out(1),
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
            registers.write_valid.eq(self.write_valid),
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
