"""The issue side of the SM: readiness, operands, and the writeback port."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import SmConfig
from ..isa.ops import Unit
from ..layouts.decoded import BufferEntry, IssueInfo
from ..layouts.execute import operands_layout, writeback_layout
from .operands import OperandStage
from .scoreboard import Scoreboard
from .writeback import UNPIPELINED, WritebackSchedule, WritebackStage, takes_slot, unit_latencies

__all__ = ["IssueStage"]


class IssueStage(wiring.Component):
    """Judges every warp's head, reads the operands of the one selected, and writes results back.

    Cycle t: ``heads`` in, ``ready`` and ``reason`` out, ``select*`` in, ``lsu_take*`` out for a load or store. t+1:
    ``entry`` in, ``reading_warp`` out. t+2: ``operands`` out, ``kill`` in (the instruction in X faults and writes
    nothing). ``halt`` (the SM has stopped at a fault): what comes to X is cancelled, ``lsu_cancel`` for a load or
    store. In W, two cycles and the unit's latency after t: ``write_unit`` out, ``result`` in, ``write`` out; for an
    instruction of the FPU ``flags_valid`` and ``flags_warp`` out, too.
    ``load``: results of the LSU, taken into free slots. A dependent instruction can be selected in W: the overhead
    over the latency is 2 cycles, always. ``clash`` may never be 1. ``busy``: an instruction, or a result still to be
    written, is in here.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        super().__init__({
            "heads": In(data.ArrayLayout(IssueInfo, config.warps)),
            "ready": Out(config.warps),
            "reason": Out(data.ArrayLayout(4, config.warps)),
            "select": In(config.warps),
            "select_warp": In(config.warp_bits),
            "select_nop": In(1),
            "select_info": In(IssueInfo),
            "entry": In(BufferEntry),
            "masks": In(data.ArrayLayout(config.threads, config.warps)),
            "reading_warp": Out(config.warp_bits),
            "operands": Out(operands_layout(config)),
            "kill": In(1),
            "halt": In(1),
            "lsu_cancel": Out(1),
            "lsu_ready": In(1),
            "stores_pending": In(config.warps),
            "lsu_take": Out(1),
            "load": In(stream.Signature(writeback_layout(config))),
            "write_unit": Out(Unit),
            "result": In(data.ArrayLayout(32, config.threads)),
            "flags_valid": Out(1),
            "flags_warp": Out(config.warp_bits),
            "write_valid": Out(1),
            "write": Out(writeback_layout(config)),
            "clash": Out(1),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scoreboard = scoreboard = Scoreboard(self._config)
        m.submodules.schedule = schedule = WritebackSchedule(self._config)
        m.submodules.operands = operands = OperandStage(self._config)
        m.submodules.writeback = writeback = WritebackStage(self._config)
        issued = Signal()
        m.d.comb += issued.eq(self.select.any() & ~self.select_nop)
        self._claim(m, issued, scoreboard, schedule)
        self._read(m, issued, operands, schedule)
        self._write(m, scoreboard, schedule, writeback)
        m.d.comb += [
            operands.write_valid.eq(writeback.write_valid),
            operands.write.eq(writeback.write),
            self.clash.eq(schedule.clash),
            self.busy.eq(operands.busy | schedule.busy | writeback.busy),
        ]
        return m

    def _claim(self, m: Module, issued: Signal, scoreboard: Scoreboard, schedule: WritebackSchedule) -> None:
        """Cycle t: the selected instruction claims its destination, its writeback slot and its unit."""
        info = self.select_info
        writes = issued & info.writes_rd
        flags_only = issued & takes_slot(info) & ~info.writes_rd
        is_lsu = info.unit == Unit.LSU
        free = {unit: self._unit_free(m, unit, issued & (info.unit == unit)) for unit in UNPIPELINED}
        free[Unit.LSU] = self.lsu_ready
        m.d.comb += [
            scoreboard.heads.eq(self.heads),
            scoreboard.unit_free.eq(Cat(free.get(unit, 1) for unit in Unit)),
            scoreboard.slot_free.eq(schedule.slot_free),
            scoreboard.stores_pending.eq(self.stores_pending),
            self.ready.eq(scoreboard.ready),
            self.reason.eq(scoreboard.reason),
            scoreboard.claim.eq(Mux(writes, self.select, 0)),
            scoreboard.claim_register.eq(info.rd),
            scoreboard.claim_load.eq(is_lsu),
            scoreboard.claim_flags.eq(Mux(flags_only, self.select, 0)),
            schedule.reserve.eq(issued & takes_slot(info) & ~is_lsu),
            schedule.reserve_unit.eq(info.unit),
            self.lsu_take.eq(issued & is_lsu),
        ]

    def _unit_free(self, m: Module, unit: Unit, selected: Value) -> Value:
        """A unit that is not pipelined takes the next operation as many cycles after the last as it works on it."""
        latency = unit_latencies(self._config)[unit]
        left = Signal(range(latency), name=f"{unit.name.lower()}_left")
        with m.If(selected):
            m.d.sync += left.eq(latency - 1)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return left == 0

    def _read(self, m: Module, issued: Signal, operands: OperandStage, schedule: WritebackSchedule) -> None:
        x = operands.operands
        info = x.entry.decoded.info
        m.d.comb += [
            operands.selected.eq(issued),
            operands.selected_warp.eq(self.select_warp),
            operands.entry.eq(self.entry),
            operands.masks.eq(self.masks),
            self.reading_warp.eq(operands.reading_warp),
            self.operands.eq(x),
            operands.halt.eq(self.halt),
            self.lsu_cancel.eq(operands.cancelled & (info.unit == Unit.LSU)),
            schedule.execute.eq((x.valid | operands.cancelled) & takes_slot(info)),
            schedule.execute_meta.warp.eq(x.warp),
            schedule.execute_meta.rd.eq(info.rd),
            schedule.execute_meta.writes.eq(info.writes_rd),
            schedule.execute_meta.mask.eq(x.mask),
            schedule.execute_meta.kill.eq(self.kill | operands.cancelled),
            schedule.execute_meta.unit.eq(info.unit),
        ]

    def _write(self, m: Module, scoreboard: Scoreboard, schedule: WritebackSchedule,
               writeback: WritebackStage) -> None:
        connect(m, flipped(self.load), writeback.load)
        m.d.comb += [
            writeback.load_free.eq(schedule.load_free),
            writeback.early.eq(schedule.release),
            writeback.early_meta.eq(schedule.release_meta),
            writeback.scheduled.eq(schedule.write),
            writeback.scheduled_meta.eq(schedule.write_meta),
            self.write_unit.eq(schedule.write_meta.unit),
            writeback.result.eq(self.result),
            self.flags_valid.eq(writeback.flags_valid),
            self.flags_warp.eq(writeback.flags_warp),
            scoreboard.release.eq(writeback.release),
            scoreboard.release_flags.eq(writeback.release_flags),
            scoreboard.release_warp.eq(writeback.release_warp),
            scoreboard.release_register.eq(writeback.release_register),
            self.write_valid.eq(writeback.write_valid),
            self.write.eq(writeback.write),
        ]
