"""The single writeback port: fixed-latency instructions reserve their cycle at issue, loads take free ones."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.latencies import unit_latencies
from ..isa.ops import FLOAT_UNITS, Unit
from ..layouts.events import write_event_layout
from ..layouts.execute import writeback_layout
from ..lib.component import Component
from .reservations import UNPIPELINED, reservations

__all__ = ["WritebackSchedule", "WritebackStage", "load_release_signature", "release_signature", "takes_slot"]


def is_float(unit: Value) -> Value:
    """Whether the unit belongs to the FPU."""
    return Cat(unit == one for one in FLOAT_UNITS).any()


def takes_slot(info: data.View) -> Value:
    """Whether an instruction (not a load) needs a writeback slot: for its register, its flags, or both."""
    return info.writes_rd | is_float(info.unit)


def _meta_layout(config: SmConfig) -> data.StructLayout:
    return data.StructLayout({
        "warp": config.warp_bits, "rd": 6, "writes": 1, "mask": config.threads, "kill": 1, "unit": Unit,
    })


def schedule_signature(config: SmConfig) -> wiring.Signature:
    """The fixed-latency results that are due now and soon, seen from the schedule."""
    meta = _meta_layout(config)
    return wiring.Signature({
        "load_free": Out(1),  # no result is written in the next cycle: a load may be
        #: A result is written in the next cycle, or with an operand register (which forwards it) in the one after.
        "early": Out(1),
        "early_meta": Out(meta),  # whose; with `early`
        "due": Out(1),  # a result is written in this cycle (W)
        "due_meta": Out(meta),  # whose; with `due`
    })


def release_signature(config: SmConfig) -> wiring.Signature:
    """The hazard that ends for instructions selected in the next cycle, seen from the writeback.

    With an operand register, loads have a port of their own (:func:`load_release_signature`).
    """
    return wiring.Signature({
        "valid": Out(1),  # an instruction writes its register for the last time, early enough for those
        "flags": Out(1),  # the same of an instruction that raises flags and writes no register; never with `valid`
        "warp": Out(config.warp_bits),  # whose; with either
        "register": Out(6),  # which register; with `valid`
    })


def load_release_signature(config: SmConfig) -> wiring.Signature:
    """The end of a load's hazard for instructions selected in the next cycle, seen from the writeback."""
    return wiring.Signature({
        "valid": Out(1),  # a load writes its register for the last time in the next cycle
        "warp": Out(config.warp_bits),  # whose; with `valid`
        "register": Out(6),  # which register; with `valid`
    })


class WritebackSchedule(Component):
    """Reserves writeback cycles and carries each result's record to its cycle W.

    An instruction selected in t on a unit of latency L is in stage X in t+``issue_latency`` and writes L cycles later,
    in W. A dependent instruction can be selected in t+2+L: in W, or with an operand register, which forwards the value,
    in W-1. One reservation a cycle. Reset: nothing is reserved.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        meta = _meta_layout(config)
        super().__init__({
            "slot_free": Out(len(Unit)),  # by Unit: cycle W of an instruction selected now is still free
            #: By Unit, one-hot or 0: an instruction that writes in a fixed cycle is selected now (t), on a unit whose
            #: `slot_free` is set. With an operand register it was selected in the cycle before: the pick comes late.
            "reserve": In(len(Unit)),
            "enter": In(1),  # an instruction with a reserved slot was selected two cycles ago (t+2)
            "enter_meta": In(meta),  # data of its result, with ``writes`` 0: flags only; ``kill`` is ignored
            "execute": In(1),  # an instruction with a reserved slot is in stage X
            "execute_meta": In(meta),  # the same data, with ``kill`` (a fault): the slot passes unused
            "out": Out(schedule_signature(config)),  # the writeback that is due
            "clash": Out(1),  # two results in one slot: may never happen
            #: Some result is still to be written. Registered state only: not one that is reserved in this cycle, whose
            #: instruction is in R with an operand register (:class:`OperandStage`).
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        latencies = unit_latencies(config)
        to_execute = config.issue_latency
        # reserved[k]: a result is written k cycles from now; slow[unit][k]: by this unit, which keeps its own record.
        reserved, taken = reservations(m, config, latencies, self.reserve)
        slow = {unit: Signal(to_execute + latencies[unit], name=f"slow_{unit.name}") for unit in UNPIPELINED}
        since = int(config.operand_register)  # cycles from the selection to `reserve`
        for unit, left in slow.items():
            begins = self.reserve[unit.value]
            m.d.sync += left.eq(Cat(left, begins)[1:] if not since else Cat(left[1:-1], left[-1] | begins, 0))
        known = reserved | taken if since else reserved
        free = {unit: ~known[to_execute + latency] for unit, latency in latencies.items()}
        m.d.comb += [
            self.slot_free.eq(Cat(free.get(unit, 1) for unit in Unit)),
            self.clash.eq((reserved & taken).any()),
            self.out.load_free.eq(~reserved[1]),
            self.busy.eq(reserved.any()),
        ]
        self._carry(m, latencies=latencies, reserved=reserved, slow=slow)
        return m

    def _carry(self, m: Module, *, latencies: dict[Unit, int], reserved: Signal,
               slow: dict[Unit, Signal]) -> None:
        """A short pipe indexed by the cycles left for pipelined units, one record for each of the others."""
        meta = _meta_layout(self._config)
        ahead = 1 + self._config.operand_register  # cycles from the release of a register to its write
        depth = max(latency for unit, latency in latencies.items() if unit not in slow)
        pipe = [Signal(meta, name=f"pipe_{left}") for left in range(depth + ahead)]

        def of_latency(record: data.View, latency: int) -> Value:
            units = [unit for unit, own in latencies.items() if own == latency and unit not in slow]
            return Cat(record.unit == unit for unit in units).any()

        # A fault is known late in X, so it marks the record in the next cycle.
        kills, was_in_x = Signal(), Signal(depth + 1)
        m.d.sync += [
            kills.eq(self.execute & self.execute_meta.kill),
            was_in_x.eq(Cat(of_latency(self.execute_meta, latency) for latency in range(depth + 1))),
        ]
        for left in range(1, depth + ahead):
            # The record of an instruction of this latency enters here.
            latency = left + 1 - ahead
            enters = self.enter & of_latency(self.enter_meta, latency)
            faults = kills & was_in_x[left + 1] if left < depth else 0
            now = Signal(meta, name=f"now_{left}")
            m.d.comb += now.eq(Mux(enters, self.enter_meta.as_value(), pipe[left].as_value()))
            m.d.sync += [pipe[left - 1].eq(now), pipe[left - 1].kill.eq((now.kill & ~enters) | faults)]
            if left == ahead:
                m.d.comb += self.out.early_meta.eq(now)
        m.d.comb += [
            self.out.early.eq(reserved[ahead]),
            self.out.due.eq(reserved[0]),
            self.out.due_meta.eq(pipe[0]),
            self.out.due_meta.kill.eq(pipe[0].kill | (kills & was_in_x[1])),
        ]
        for unit, count in slow.items():
            record, was_its = Signal(meta, name=f"record_{unit.name}"), Signal(name=f"{unit.name}_was_in_x")
            m.d.sync += was_its.eq(self.execute_meta.unit == unit)
            with m.If(kills & was_its):
                m.d.sync += record.kill.eq(1)
            with m.If(self.execute & (self.execute_meta.unit == unit)):
                m.d.sync += [record.eq(self.execute_meta), record.kill.eq(0)]
            with m.If(count[ahead]):
                m.d.comb += self.out.early_meta.eq(record)
            with m.If(count[0]):
                m.d.comb += self.out.due_meta.eq(record)


class WritebackStage(Component):
    """Stage W: merges fixed-latency results and loads on the single writeback port.

    One write a cycle. A load writes in the cycle after it is taken and releases its register with its last part.
    Fixed-latency results never wait; loads wait for a free slot. Reset: no load is waiting to be written.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        optional: dict[str, wiring.Member] = {}
        if config.operand_register:
            optional["release_load"] = Out(load_release_signature(config))  # for the scoreboard: of loads
        super().__init__({
            **optional,
            "schedule": In(schedule_signature(config)),  # the results of fixed latency that are due
            #: Results of the LSU; one is taken in a cycle with ``schedule.load_free`` and written in the next.
            "load": In(stream.Signature(writeback_layout(config))),
            "result": In(data.ArrayLayout(32, config.threads)),  # with ``schedule.due``: the values
            "release": Out(release_signature(config)),  # for the scoreboard
            "flags_valid": Out(1),  # an instruction of the FPU raises its flags in this cycle (W)
            "flags_warp": Out(config.warp_bits),  # whose; with `flags_valid`
            "write": Out(write_event_layout(config)),  # the register write of this cycle; without lanes writes nothing
            "busy": Out(1),  # a load is still to be written
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        schedule = self.schedule
        load_valid = Signal()
        load = Signal(writeback_layout(self._config))
        taken = self.load.valid & self.load.ready
        m.d.comb += self.load.ready.eq(schedule.load_free)
        m.d.sync += load_valid.eq(taken)
        m.d.comb += self.busy.eq(load_valid)
        with m.If(taken):
            m.d.sync += load.eq(self.load.payload)
        loads = self.release_load if self._config.operand_register else self.release
        m.d.comb += [
            loads.valid.eq(taken & self.load.payload.last),
            loads.warp.eq(self.load.payload.warp),
            loads.register.eq(self.load.payload.rd),
        ]
        with m.If(schedule.early):
            m.d.comb += [
                self.release.valid.eq(schedule.early_meta.writes),
                self.release.flags.eq(~schedule.early_meta.writes),
                self.release.warp.eq(schedule.early_meta.warp),
                self.release.register.eq(schedule.early_meta.rd),
            ]
        m.d.comb += self.flags_warp.eq(schedule.due_meta.warp)
        with m.If(schedule.due):
            m.d.comb += [
                self.flags_valid.eq(~schedule.due_meta.kill & is_float(schedule.due_meta.unit)),
                self.write.valid.eq(~schedule.due_meta.kill & schedule.due_meta.writes),
                self.write.value.warp.eq(schedule.due_meta.warp),
                self.write.value.rd.eq(schedule.due_meta.rd),
                self.write.value.mask.eq(schedule.due_meta.mask),
                self.write.value.last.eq(1),
                self.write.value.data.eq(self.result),
            ]
        with m.Else():
            m.d.comb += [self.write.valid.eq(load_valid), self.write.value.eq(load)]
        return m
