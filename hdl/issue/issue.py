"""The issue side of the SM: readiness, operands, and the writeback port."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import SmConfig
from ..isa.ops import Unit
from ..layouts.events import issue_event_layout, write_event_layout
from ..layouts.execute import operands_layout, writeback_layout
from ..layouts.signatures import ahead_signature, flow_signature, selection_signature
from ..lib.component import Component
from ..lib.onehot import one_hot, select
from .operands import OperandStage
from .reservations import UNPIPELINED, operations_left
from .scoreboard import Scoreboard
from .writeback import WritebackSchedule, WritebackStage, takes_slot

__all__ = ["IssueStage"]


class IssueStage(Component):
    """Judges each warp's head, reads the operands of the selected instruction, and writes results back.

    An instruction is selected in t, read in R (t+1), executed from X on, ``issue_latency`` cycles after t, and writes
    in W, X plus its unit's latency. One can be selected in every cycle. A dependent instruction can be selected 2
    cycles plus the latency after t; one that depends on a load can be selected in the load's W. Reset: nothing in
    flight, nothing pending. ``event.clash`` may never be 1.

    ``share``: what it shares with other partitions (:func:`hdl.layouts.signatures.sharing_signature`).
    """

    def __init__(self, config: SmConfig, *, share: wiring.Signature | None = None) -> None:
        self._config, self._shared = config, frozenset(share.members) if share else frozenset()
        ordering: dict[str, wiring.Member] = {}
        if config.ordered:
            ordering = {
                "region": In(1),  # in t: the measured region is open
                "lsu_room": In(config.warps),  # in t: the warps whose load or store the LSU can take, if it is ready
                "lsu_idle": In(1),  # in t: the LSU is empty; an access to mregion waits for this
            }
        early: dict[str, wiring.Member] = {}
        if config.operand_register:
            early["ahead"] = In(ahead_signature(config))  # from the front end
        if share:
            early["share"] = Out(share)  # to and from what partitions share
        if "asks" in self._shared:
            early["may_issue"] = In(config.warps)  # in t, from the front end: warps whose head issues if it is ready
        super().__init__({
            **ordering,
            **early,
            "selection": In(selection_signature(config)),  # from the front end
            "flow": In(flow_signature(config)),  # from the control unit: thread masks, read in R (t+1)
            "next_warp": Out(config.warp_bits),  # the warp of the instruction that is in X in the next cycle
            "operands": Out(operands_layout(config)),  # in X: the instruction, its sources and its thread mask
            "kill": In(1),  # in X: the instruction faults and writes nothing
            "halt": In(1),  # the SM has stopped at a fault: the instruction in X has no effect
            "lsu_cancel": Out(1),  # in X: `halt` has cancelled a load or store that `lsu_take` announced to the LSU
            "lsu_ready": In(1),  # in t: the LSU can take a load or store that is selected now
            #: The warps with stores that memory has not completed; a fence waits for them.
            "stores_pending": In(config.warps),
            "lsu_take": Out(1),  # in t: a load or store is selected
            #: Results of the LSU; they are written in cycles that no other result has reserved.
            "load": In(stream.Signature(writeback_layout(config))),
            "write_unit": Out(Unit),  # in W: the unit of the instruction whose result is due
            "result": In(data.ArrayLayout(32, config.threads)),  # in W: the result, from the unit
            "flags_valid": Out(1),  # in W: an instruction of the FPU raises its flags
            "flags_warp": Out(config.warp_bits),  # in W: the warp of that instruction; with `flags_valid`
            "event": Out(issue_event_layout(config)),  # this cycle, for observers
            "write_event": Out(write_event_layout(config)),  # the register write of this cycle, for observers
            "busy": Out(1),  # the stage holds an instruction, or a result still to be written
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scoreboard = scoreboard = Scoreboard(self._config, asks="asks" in self._shared)
        m.submodules.schedule = schedule = WritebackSchedule(self._config)
        m.submodules.operands = operands = OperandStage(self._config)
        m.submodules.writeback = writeback = WritebackStage(self._config)
        issued = Signal()
        m.d.comb += issued.eq(self.selection.select.any() & ~self.selection.nop)
        self._claim(m, issued, scoreboard, schedule)
        if self._config.ordered:
            self._order(m, issued, scoreboard)
        self._read(m, issued, operands, schedule)
        self._write(m, scoreboard, schedule, writeback)
        self._tell(m, scoreboard, schedule, writeback)
        m.d.comb += [
            operands.write.eq(writeback.write),
            self.busy.eq(operands.busy | schedule.busy | writeback.busy),
        ]
        return m

    def _claim(self, m: Module, issued: Signal, scoreboard: Scoreboard, schedule: WritebackSchedule) -> None:
        """Cycle t: the selected instruction claims its destination, its writeback slot and its unit."""
        if self._config.operand_register:
            connect(m, flipped(self.ahead), scoreboard.ahead)
            m.d.comb += scoreboard.pop.eq(self.selection.select)
            writes, flags_only, takes, begins, reserves = self._of_each_head(m)
        else:
            info = self.selection.info
            writes = Mux(issued & info.writes_rd, self.selection.select, 0)
            flags_only = Mux(issued & takes_slot(info) & ~info.writes_rd, self.selection.select, 0)
            begins = Cat(issued & (info.unit == unit) for unit in Unit)
            takes = issued & (info.unit == Unit.LSU)
            reserves = Mux(takes_slot(info), begins, 0)
        free: dict[Unit, Value] = {}
        if "free" not in self._shared:
            free = {
                unit: operations_left(m, self._config, unit, begins[unit.value])[0] for unit in UNPIPELINED
            }
        free[Unit.LSU] = self.lsu_ready
        unit_free: Value = Cat(free.get(unit, 1) for unit in Unit)
        slot_free: Value = schedule.slot_free
        if self._shared:
            unit_free, slot_free = self._share(m, scoreboard, schedule, unit_free, Value.cast(begins))
        m.d.comb += [
            scoreboard.heads.eq(self.selection.heads),
            scoreboard.unit_free.eq(unit_free),
            scoreboard.slot_free.eq(slot_free),
            scoreboard.stores_pending.eq(self.stores_pending),
            self.selection.ready.eq(scoreboard.ready),
            scoreboard.claim.eq(writes),
            scoreboard.claim_flags.eq(flags_only),
            schedule.reserve.eq(reserves & ~(1 << Unit.LSU.value)),
            self.lsu_take.eq(takes),
        ]

    def _share(self, m: Module, scoreboard: Scoreboard, schedule: WritebackSchedule, free: Value,
               begins: Value) -> tuple[Value, Value]:
        """Return which units and slots this partition may use, by Unit; ``free``: its own units."""
        share, slots = self.share, Value.cast(schedule.slot_free)
        units = Signal(len(Unit), name="units")
        m.d.comb += units.eq(free & share.turn & (share.free if "free" in self._shared else -1))
        if "begins" in self._shared:
            m.d.comb += share.begins.eq(begins)
        turn: Value = Const(-1, len(Unit))
        if "slot_turn" in self._shared:
            turn, slots = share.slot_turn, slots & share.slot_turn
            m.d.comb += share.due.eq(schedule.out.due)
        if "slots" in self._shared:
            slots = slots & share.slots
            m.d.comb += [
                share.slot_free.eq(schedule.slot_free), share.load_free.eq(schedule.out.load_free),
            ]
        if "asks" in self._shared:
            self._ask(m, scoreboard.asks & self.may_issue, units, turn)
        return units, slots

    def _ask(self, m: Module, asking: Value, units: Value, turn: Value) -> None:
        """Ask for turns. ``units``: those that can take an instruction; ``turn``: those whose slot has its turn."""
        share, heads = self.share, [self.selection.heads[w] for w in range(self._config.warps)]
        ready = asking & Cat(
            (units & (turn | (~takes_slot(head)).replicate(len(Unit)))).bit_select(head.unit.as_value(), 1)
            for head in heads
        )
        for unit in Unit:
            of_unit = Cat(head.unit == unit for head in heads)
            m.d.comb += [
                share.asks[unit.value].eq((asking & of_unit).any()),
                share.ready[unit.value].eq((ready & of_unit).any()),
            ]

    def _of_each_head(self, m: Module) -> tuple[Value, Value, Value, Value, Value]:
        """Return the claims of the selected head. Each head's claims are computed before the pick, which comes late.

        Returns masks of warps, of those that write a register and of those that only raise flags; whether the LSU takes
        the instruction; and masks of units, of the one that began in the last cycle and of the one whose slot was
        reserved then. The last two are selected after a register.
        """
        ahead, nops, heads = self.ahead, self.ahead.nops, self.selection.heads
        starts, slots = ([Signal(len(Unit), name=f"{name}_{w}") for w in range(self._config.warps)]
                         for name in ("starts", "slots"))
        writes, flags_only, loads = (Signal(self._config.warps) for _ in range(3))
        for w in range(self._config.warps):
            m.d.comb += [
                starts[w].eq(Mux(nops[w], 0, one_hot(heads[w].unit.as_value(), len(Unit)))),
                slots[w].eq(Mux(takes_slot(heads[w]), starts[w], 0)),
                writes[w].eq(heads[w].writes_rd & ~nops[w]),
                flags_only[w].eq(takes_slot(heads[w]) & ~heads[w].writes_rd & ~nops[w]),
                loads[w].eq(starts[w][Unit.LSU.value]),
            ]
        missed = Signal(name="missed_before")
        m.d.sync += missed.eq(ahead.missed)

        def registered(values: list[Signal], name: str) -> Value:
            outcomes = [Signal(len(Unit), name=f"{name}_if_{outcome}") for outcome in ("missed", "hit")]
            m.d.sync += [outcomes[0].eq(select(ahead.if_missed, values)), outcomes[1].eq(select(ahead.if_hit, values))]
            return Mux(missed, *outcomes)

        picks = self.selection.select
        return (picks & writes, picks & flags_only, (picks & loads).any(), registered(starts, "began"),
                registered(slots, "reserved"))

    def _order(self, m: Module, issued: Signal, scoreboard: Scoreboard) -> None:
        """Track accesses to mregion: the LSU learns of one only in X, so until then the next one is held back here."""
        info, on_its_way = self.selection.info, Signal(self._config.issue_latency)
        m.d.sync += on_its_way.eq(Cat(issued & info.drain & info.fence, on_its_way))
        m.d.comb += [
            scoreboard.room.eq(self.lsu_room),
            scoreboard.region.eq(self.region),
            scoreboard.memory_idle.eq(self.lsu_idle & ~on_its_way.any()),
        ]

    def _read(self, m: Module, issued: Signal, operands: OperandStage, schedule: WritebackSchedule) -> None:
        x = operands.operands
        info = x.entry.decoded.info
        if self._config.learns:
            m.d.comb += operands.prediction.eq(self.selection.prediction)
        m.d.comb += [
            operands.selected.eq(issued),
            operands.selected_warp.eq(self.selection.warp),
            operands.entry.eq(self.selection.entry),
            operands.masks.eq(self.flow.masks),
            self.next_warp.eq(operands.next_warp),
            self.operands.eq(x),
            operands.halt.eq(self.halt),
            self.lsu_cancel.eq(operands.cancelled & (info.unit == Unit.LSU)),
            schedule.enter.eq(operands.read.valid & takes_slot(operands.read.entry.decoded.info)),
            schedule.execute.eq((x.valid | operands.cancelled) & takes_slot(info)),
            schedule.execute_meta.kill.eq(self.kill | operands.cancelled),
        ]
        for meta, stage in ((schedule.enter_meta, operands.read), (schedule.execute_meta, x)):
            info = stage.entry.decoded.info
            m.d.comb += [
                meta.warp.eq(stage.warp),
                meta.rd.eq(info.rd),
                meta.writes.eq(info.writes_rd),
                meta.mask.eq(stage.mask),
                meta.unit.eq(info.unit),
            ]

    def _write(self, m: Module, scoreboard: Scoreboard, schedule: WritebackSchedule,
               writeback: WritebackStage) -> None:
        if "load_slot" in self._shared:
            m.d.comb += [
                writeback.load.valid.eq(self.load.valid & self.share.load_slot),
                writeback.load.payload.eq(self.load.payload),
                self.load.ready.eq(writeback.load.ready & self.share.load_slot),
            ]
        else:
            connect(m, flipped(self.load), writeback.load)
        connect(m, schedule.out, writeback.schedule)
        connect(m, writeback.release, scoreboard.release)
        if self._config.operand_register:
            connect(m, writeback.release_load, scoreboard.release_load)
        m.d.comb += [
            self.write_unit.eq(schedule.out.due_meta.unit),
            writeback.result.eq(self.result),
            self.flags_valid.eq(writeback.flags_valid),
            self.flags_warp.eq(writeback.flags_warp),
        ]

    def _tell(self, m: Module, scoreboard: Scoreboard, schedule: WritebackSchedule, writeback: WritebackStage) -> None:
        """Fill the records of this cycle."""
        x, event = self.operands, self.event
        m.d.comb += [
            event.valid.eq(x.valid),
            event.warp.eq(x.warp),
            event.pc.eq(x.entry.pc),
            event.instruction.eq(x.entry.instruction),
            event.mask.eq(x.mask),
            event.head_ready.eq(scoreboard.ready),
            event.head_reason.eq(scoreboard.reason),
            event.clash.eq(schedule.clash),
            self.write_event.eq(writeback.write),
        ]
