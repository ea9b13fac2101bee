"""The one writeback port: fixed-latency instructions reserve their cycle at issue, loads take free ones."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import FLOAT_UNITS, Unit
from ..layouts.execute import writeback_layout

__all__ = ["ISSUE_TO_EXECUTE", "UNPIPELINED", "WritebackSchedule", "WritebackStage", "takes_slot", "unit_latencies"]

#: Cycles from selection to stage X, where the operands are.
ISSUE_TO_EXECUTE = 2

#: Units that take one operation at a time: each keeps its own class waiting, and nothing else.
UNPIPELINED = (Unit.DIV, Unit.FDIV)


def unit_latencies(config: SmConfig) -> dict[Unit, int]:
    """Latency of each unit that takes writeback slots (design.md section 4)."""
    return {
        Unit.ALU: config.latency_alu,
        Unit.BRANCH: config.latency_alu,
        Unit.MUL: config.latency_mul,
        Unit.DIV: config.latency_div,
        Unit.CSR: config.latency_csr,
        Unit.SIMT: config.latency_simt,
        Unit.FMA: config.latency_fma,
        Unit.FCVT: config.latency_fcvt,
        Unit.FDIV: config.latency_fdiv,
        Unit.FMISC: config.latency_fmisc,
    }


def is_float(unit: Value) -> Value:
    """Whether it is one of the FPU's."""
    return Cat(unit == one for one in FLOAT_UNITS).any()


def takes_slot(info: data.View) -> Value:
    """Whether an instruction (not a load) needs a writeback slot: for its register, its flags, or both."""
    return info.writes_rd | is_float(info.unit)


def _meta_layout(config: SmConfig) -> data.StructLayout:
    return data.StructLayout({
        "warp": config.warp_bits, "rd": 6, "writes": 1, "mask": config.threads, "kill": 1, "unit": Unit,
    })


class WritebackSchedule(wiring.Component):
    """Reserves writeback cycles and carries what belongs to each result to its cycle W.

    An instruction selected in t on a unit of latency L is in stage X in t+2 and writes in W = t+2+L; an instruction
    that depends on it can be selected in W: latency + 2.

    - ``slot_free`` (by unit): its cycle W is still free for a selection in this cycle. ``reserve`` takes it for
      ``reserve_unit``.
    - ``execute`` with warp, rd, mask and unit in stage X; ``writes`` is clear where only flags are raised, ``kill`` (a
      fault) keeps the slot but writes nothing.
    - ``load_free``: the cycle after this one has no result, so a load may write in it.
    - ``release`` with warp and rd, in the cycle before W.
    - ``write`` and ``write_meta`` in W.
    - ``clash``: two results in one slot; may never happen.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        meta = _meta_layout(config)
        super().__init__({
            "slot_free": Out(len(Unit)),
            "reserve": In(1),
            "reserve_unit": In(Unit),
            "execute": In(1),
            "execute_meta": In(meta),
            "load_free": Out(1),
            "release": Out(1),
            "release_meta": Out(meta),
            "write": Out(1),
            "write_meta": Out(meta),
            "clash": Out(1),
            "busy": Out(1),
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
            self.load_free.eq(~reserved[1]),
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
            self.release.eq(reserved[1]),
            self.release_meta.eq(now[1]),
            self.write.eq(reserved[0]),
            self.write_meta.eq(pipe[0]),
        ]
        for unit, left in slow.items():
            record = Signal(meta, name=f"record_{unit.name}")
            with m.If(self.execute & (self.execute_meta.unit == unit)):
                m.d.sync += record.eq(self.execute_meta)
            with m.If(left[1]):
                m.d.comb += self.release_meta.eq(record)
            with m.If(left[0]):
                m.d.comb += self.write_meta.eq(record)


class WritebackStage(wiring.Component):
    """Stage W: joins fixed-latency results and loads on the one writeback port.

    A load is taken from ``load`` in a cycle before a free slot and written in that slot. ``release`` with warp and
    register comes in the cycle before the write, for loads with their last part; ``release_flags`` instead of it for
    an instruction of the FPU whose rd is x0. ``write`` in W; without lanes it writes nothing. ``flags_valid``: an
    instruction of the FPU, of warp ``flags_warp``, raises its flags in this cycle W.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        meta = _meta_layout(config)
        super().__init__({
            "load_free": In(1),
            "load": In(stream.Signature(writeback_layout(config))),
            "scheduled": In(1),
            "scheduled_meta": In(meta),
            "result": In(data.ArrayLayout(32, config.threads)),
            "early": In(1),
            "early_meta": In(meta),
            "release": Out(1),
            "release_flags": Out(1),
            "release_warp": Out(config.warp_bits),
            "release_register": Out(6),
            "flags_valid": Out(1),
            "flags_warp": Out(config.warp_bits),
            "write_valid": Out(1),
            "write": Out(writeback_layout(config)),
            "busy": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        load_valid = Signal()
        load = Signal(writeback_layout(self._config))
        taken = self.load.valid & self.load.ready
        m.d.comb += self.load.ready.eq(self.load_free)
        m.d.sync += load_valid.eq(taken)
        m.d.comb += self.busy.eq(load_valid)
        with m.If(taken):
            m.d.sync += load.eq(self.load.payload)
        with m.If(self.early):
            m.d.comb += [
                self.release.eq(self.early_meta.writes),
                self.release_flags.eq(~self.early_meta.writes),
                self.release_warp.eq(self.early_meta.warp),
                self.release_register.eq(self.early_meta.rd),
            ]
        with m.Else():
            m.d.comb += [
                self.release.eq(taken & self.load.payload.last),
                self.release_warp.eq(self.load.payload.warp),
                self.release_register.eq(self.load.payload.rd),
            ]
        m.d.comb += self.flags_warp.eq(self.scheduled_meta.warp)
        with m.If(self.scheduled):
            m.d.comb += [
                self.flags_valid.eq(~self.scheduled_meta.kill & is_float(self.scheduled_meta.unit)),
                self.write_valid.eq(~self.scheduled_meta.kill & self.scheduled_meta.writes),
                self.write.warp.eq(self.scheduled_meta.warp),
                self.write.rd.eq(self.scheduled_meta.rd),
                self.write.mask.eq(self.scheduled_meta.mask),
                self.write.last.eq(1),
                self.write.data.eq(self.result),
            ]
        with m.Else():
            m.d.comb += [self.write_valid.eq(load_valid), self.write.eq(load)]
        return m
