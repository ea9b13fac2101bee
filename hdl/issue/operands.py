"""From a selected instruction to its operands: stages R (t+1) and X (``issue_latency`` cycles after the selection)."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from ..config import SmConfig
from ..layouts.decoded import BufferEntry
from ..layouts.events import write_event_layout
from ..layouts.execute import operands_layout
from ..layouts.prediction import prediction_layout
from ..lib.component import Component
from .regfile import RegisterFile

__all__ = ["OperandStage"]


class OperandStage(Component):
    """Reads the registers of the instruction that was selected in t.

    Latency ``issue_latency`` cycles from the selection to X, one instruction a cycle, no stalls. With a latency of 2
    the operands come straight from the register file's memory. With 3 they pass a register, in which the write of
    cycle R replaces the value read: the reader need not wait for it. Reset: nothing in flight.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        learning: dict[str, Member] = {}
        if config.learns:
            learning["prediction"] = In(prediction_layout())  # of ``entry``
        super().__init__({
            "selected": In(1),  # an instruction, not a NOP, is selected in this cycle (t)
            "selected_warp": In(config.warp_bits),  # the warp of this instruction
            "entry": In(BufferEntry),  # the instruction; in R (t+1), from the buffers
            **learning,
            "reading_warp": Out(config.warp_bits),  # the warp in R; unchanged if R is empty
            "next_warp": Out(config.warp_bits),  # the warp of the instruction that is in X in the next cycle, if any is
            "masks": In(data.ArrayLayout(config.threads, config.warps)),  # every warp's thread mask; read in R
            #: The register write of this cycle. Instructions in R in a later cycle see it; with an operand register,
            #: those in R in this cycle do, too.
            "write": In(write_event_layout(config)),
            "halt": In(1),  # the SM has stopped at a fault: the instruction in X has no effect
            "operands": Out(operands_layout(config)),  # the instruction in X, with its sources and thread mask
            #: The instruction in t+2: the one in X, or with an operand register the one in X in the next cycle.
            #: Without sources; ``valid`` does not depend on ``halt``.
            "read": Out(operands_layout(config)),
            "cancelled": Out(1),  # an instruction is in X and `halt` is set
            "busy": Out(1),  # an instruction is in R, in X, or between them
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.registers = registers = RegisterFile(config)
        reading = Signal()
        m.d.sync += reading.eq(self.selected)
        with m.If(self.selected):
            m.d.sync += self.reading_warp.eq(self.selected_warp)
        m.d.comb += [
            registers.warp.eq(self.reading_warp),
            registers.decoded.eq(self.entry.decoded),
            registers.write.eq(self.write),
        ]
        read = self.read
        m.d.sync += read.valid.eq(reading)
        with m.If(reading):
            m.d.sync += [
                read.warp.eq(self.reading_warp),
                read.mask.eq(Array(self.masks[w] for w in range(config.warps))[self.reading_warp]),
                read.entry.eq(self.entry),
            ]
            if config.learns:
                m.d.sync += read.prediction.eq(self.prediction)
        x = Signal(operands_layout(config))
        if config.operand_register:
            sources = self._forwarded(m, registers)
            m.d.sync += x.valid.eq(read.valid)
            with m.If(read.valid):
                m.d.sync += [x.warp.eq(read.warp), x.mask.eq(read.mask), x.entry.eq(read.entry)]
                m.d.sync += [x[name].eq(value) for name, value in sources.items()]
                if config.learns:
                    m.d.sync += x.prediction.eq(read.prediction)
        else:
            m.d.comb += [
                x.eq(read), x.rs1.eq(registers.rs1), x.rs2.eq(registers.rs2), x.rs3.eq(registers.rs3),
            ]
        m.d.comb += [
            self.next_warp.eq(read.warp if config.operand_register else self.reading_warp),
            self.busy.eq(reading | read.valid | x.valid),
            self.operands.eq(x),
            self.operands.valid.eq(x.valid & ~self.halt),
            self.cancelled.eq(x.valid & self.halt),
        ]
        return m

    def _forwarded(self, m: Module, registers: RegisterFile) -> dict[str, data.View]:
        """Return the sources in t+2, each from the register file or from the write of R, which the file missed."""
        value, info = self.write.value, self.entry.decoded.info
        lanes = data.ArrayLayout(32, self._config.threads)
        written = Signal(lanes)
        m.d.sync += written.eq(value.data)
        sources = {}
        for name, used, register in (("rs1", info.use_rs1, info.rs1), ("rs2", info.use_rs2, info.rs2),
                                     ("rs3", info.use_rs3, info.rs3)):
            replaced = Signal(self._config.threads, name=f"{name}_replaced")
            same = self.write.valid & used & (value.warp == self.reading_warp) & (value.rd == register)
            m.d.sync += replaced.eq(Mux(same, value.mask, 0))
            out = getattr(registers, name)
            sources[name] = Signal(lanes, name=f"{name}_forwarded")
            for lane in range(self._config.threads):
                m.d.comb += sources[name][lane].eq(Mux(replaced[lane], written[lane], out[lane]))
        return sources
