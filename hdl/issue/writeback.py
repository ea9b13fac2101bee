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

__all__ = ["ISSUE_TO_EXECUTE", "UNPIPELINED", "WritebackSchedule", "WritebackStage", "release_signature", "takes_slot"]

#: Cycles from selection to stage X, where the operands are.
ISSUE_TO_EXECUTE = 2

#: Units that take one operation at a time: each keeps its own class waiting, and nothing else.
UNPIPELINED = (Unit.DIV, Unit.FDIV)


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
    """The fixed-latency results that are due now and in the next cycle, seen from the schedule."""
    meta = _meta_layout(config)
    return wiring.Signature({
        "load_free": Out(1),  # no result is written in the next cycle: a load may be
        "early": Out(1),  # a result is written in the next cycle
        "early_meta": Out(meta),  # whose; with `early`
        "due": Out(1),  # a result is written in this cycle (W)
        "due_meta": Out(meta),  # whose; with `due`
    })


def release_signature(config: SmConfig) -> wiring.Signature:
    """The hazard that ends for instructions selected in the next cycle, seen from the writeback."""
    return wiring.Signature({
        "valid": Out(1),  # a register is written for the last time by its instruction in the next cycle
        "flags": Out(1),  # the same of an instruction that raises flags and writes no register; never with `valid`
        "warp": Out(config.warp_bits),  # whose; with either
        "register": Out(6),  # which register; with `valid`
    })


class WritebackSchedule(Component):
    """Reserves writeback cycles and carries each result's record to its cycle W.

    An instruction selected in t on a unit of latency L is in stage X in t+2 and writes in W = t+2+L; a dependent
    instruction can be selected in W: latency + 2. One reservation a cycle. Reset: nothing is reserved.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        meta = _meta_layout(config)
        super().__init__({
            "slot_free": Out(len(Unit)),  # by Unit: cycle W of an instruction selected now is still free
            "reserve": In(1),  # an instruction that writes in a fixed cycle is selected now (t)
            "reserve_unit": In(Unit),  # its unit, whose `slot_free` must be set
            "execute": In(1),  # an instruction with a reserved slot is in stage X (t+2)
            #: Data of its result; ``writes`` 0: flags only; ``kill`` (a fault): the slot passes unused.
            "execute_meta": In(meta),
            "out": Out(schedule_signature(config)),  # the writeback that is due
            "clash": Out(1),  # two results in one slot: may never happen
            "busy": Out(1),  # some result is still to be written
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        latencies = unit_latencies(config)
        last = ISSUE_TO_EXECUTE + max(latencies.values())
        # reserved[k]: a result is written k cycles from now; slow[unit][k]: by this unit, which keeps its own record.
        reserved = Signal(last + 1)
        taken = Signal(last + 1)
        slow = {unit: Signal(ISSUE_TO_EXECUTE + latencies[unit], name=f"slow_{unit.name}") for unit in UNPIPELINED}
        with m.Switch(self.reserve_unit):
            for unit, latency in latencies.items():
                with m.Case(unit):
                    m.d.comb += taken.eq(Mux(self.reserve, 1 << (ISSUE_TO_EXECUTE + latency), 0))
        m.d.sync += reserved.eq((reserved | taken) >> 1)
        for unit, left in slow.items():
            m.d.sync += left.eq(Cat(left, self.reserve & (self.reserve_unit == unit))[1:])
        free = {unit: ~reserved[ISSUE_TO_EXECUTE + latency] for unit, latency in latencies.items()}
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
        depth = max(latency for unit, latency in latencies.items() if unit not in slow)
        pipe = [Signal(meta, name=f"pipe_{left}") for left in range(depth + 1)]
        entering = {
            left: self.execute & Cat(
                self.execute_meta.unit == unit for unit, latency in latencies.items()
                if latency == left and unit not in slow
            ).any()
            for left in range(1, depth + 1)
        }
        now = [pipe[0]] + [
            Mux(entering[left], self.execute_meta.as_value(), pipe[left].as_value()) for left in range(1, depth + 1)
        ]
        for left in range(depth):
            m.d.sync += pipe[left].eq(now[left + 1])
        m.d.comb += [
            self.out.early.eq(reserved[1]),
            self.out.early_meta.eq(now[1]),
            self.out.due.eq(reserved[0]),
            self.out.due_meta.eq(pipe[0]),
        ]
        for unit, count in slow.items():
            record = Signal(meta, name=f"record_{unit.name}")
            with m.If(self.execute & (self.execute_meta.unit == unit)):
                m.d.sync += record.eq(self.execute_meta)
            with m.If(count[1]):
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
        super().__init__({
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
        with m.If(schedule.early):
            m.d.comb += [
                self.release.valid.eq(schedule.early_meta.writes),
                self.release.flags.eq(~schedule.early_meta.writes),
                self.release.warp.eq(schedule.early_meta.warp),
                self.release.register.eq(schedule.early_meta.rd),
            ]
        with m.Else():
            m.d.comb += [
                self.release.valid.eq(taken & self.load.payload.last),
                self.release.warp.eq(self.load.payload.warp),
                self.release.register.eq(self.load.payload.rd),
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
