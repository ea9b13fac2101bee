"""The one writeback port: fixed-latency instructions reserve their cycle at issue, loads take free ones."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import Unit
from ..layouts.execute import writeback_layout

__all__ = ["ISSUE_TO_EXECUTE", "WritebackSchedule", "WritebackStage", "unit_latencies"]

#: Cycles from selection to stage X, where the operands are.
ISSUE_TO_EXECUTE = 2


def unit_latencies(config: SmConfig) -> dict[Unit, int]:
    """Latency of each fixed-latency unit that writes a register (design.md section 4)."""
    return {
        Unit.ALU: config.latency_alu,
        Unit.BRANCH: config.latency_alu,
        Unit.MUL: config.latency_mul,
        Unit.DIV: config.latency_div,
        Unit.CSR: config.latency_csr,
        Unit.SIMT: config.latency_simt,
    }


def _meta_layout(config: SmConfig) -> data.StructLayout:
    return data.StructLayout({
        "warp": config.warp_bits, "rd": 6, "mask": config.threads, "kill": 1, "unit": Unit,
    })


class WritebackSchedule(wiring.Component):
    """Reserves writeback cycles and carries what belongs to each result to its cycle W.

    An instruction selected in t on a unit of latency L is in stage X in t+2 and writes in W = t+2+L; an instruction
    that depends on it can be selected in W: latency + 2.

    - ``slot_free`` (by unit): its cycle W is still free for a selection in this cycle. ``reserve`` takes it for
      ``reserve_unit``.
    - ``execute`` with warp, rd, mask and unit in stage X; ``execute_kill`` (a fault) keeps the slot but writes nothing.
    - ``load_free``: the cycle after this one has no result, so a load may write in it.
    - ``release`` with warp and rd, in the cycle before W.
    - ``write_valid`` and ``write_*`` in W. ``write_kill``: a slot without a write.
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
        # reserved[k]: a result is written k cycles from now; slow[k]: by the divider, which keeps its own record.
        reserved = Signal(last + 1)
        slow = Signal(last + 1)
        taken = Signal(last + 1)
        taken_slow = Signal(last + 1)
        with m.Switch(self.reserve_unit):
            for unit, latency in latencies.items():
                with m.Case(unit):
                    position = 1 << (ISSUE_TO_EXECUTE + latency)
                    m.d.comb += [
                        taken.eq(Mux(self.reserve, position, 0)),
                        taken_slow.eq(Mux(self.reserve, position if unit is Unit.DIV else 0, 0)),
                    ]
        m.d.sync += [reserved.eq((reserved | taken) >> 1), slow.eq((slow | taken_slow) >> 1)]
        free = {unit: ~reserved[ISSUE_TO_EXECUTE + latency] for unit, latency in latencies.items()}
        m.d.comb += [
            self.slot_free.eq(Cat(free.get(unit, 1) for unit in Unit)),
            self.clash.eq((reserved & taken).any()),
            self.load_free.eq(~reserved[1]),
            self.busy.eq(reserved.any()),
        ]
        self._carry(m, latencies=latencies, reserved=reserved, slow=slow)
        return m

    def _carry(self, m: Module, *, latencies: dict[Unit, int], reserved: Signal, slow: Signal) -> None:
        """A short pipe indexed by the cycles left for pipelined units, one record for the divider."""
        meta = _meta_layout(self._config)
        depth = max(latency for unit, latency in latencies.items() if unit is not Unit.DIV)
        pipe = [Signal(meta, name=f"pipe_{left}") for left in range(depth + 1)]
        divider = Signal(meta)
        entering = {
            left: self.execute & Cat(
                self.execute_meta.unit == unit for unit, latency in latencies.items()
                if latency == left and unit is not Unit.DIV
            ).any()
            for left in range(1, depth + 1)
        }
        now = [pipe[0]] + [
            Mux(entering[left], self.execute_meta.as_value(), pipe[left].as_value()) for left in range(1, depth + 1)
        ]
        for left in range(depth):
            m.d.sync += pipe[left].eq(now[left + 1])
        with m.If(self.execute & (self.execute_meta.unit == Unit.DIV)):
            m.d.sync += divider.eq(self.execute_meta)
        m.d.comb += [
            self.release.eq(reserved[1]),
            self.release_meta.eq(Mux(slow[1], divider.as_value(), now[1])),
            self.write.eq(reserved[0]),
            self.write_meta.eq(Mux(slow[0], divider.as_value(), pipe[0].as_value())),
        ]


class WritebackStage(wiring.Component):
    """Stage W: joins fixed-latency results and loads on the one writeback port.

    A load is taken from ``load`` in a cycle before a free slot and written in that slot. ``release`` with warp and
    register comes in the cycle before the write, for loads with their last part. ``write`` in W; without lanes it
    writes nothing.
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
            "release_warp": Out(config.warp_bits),
            "release_register": Out(6),
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
                self.release.eq(1),
                self.release_warp.eq(self.early_meta.warp),
                self.release_register.eq(self.early_meta.rd),
            ]
        with m.Else():
            m.d.comb += [
                self.release.eq(taken & self.load.payload.last),
                self.release_warp.eq(self.load.payload.warp),
                self.release_register.eq(self.load.payload.rd),
            ]
        with m.If(self.scheduled):
            m.d.comb += [
                self.write_valid.eq(~self.scheduled_meta.kill),
                self.write.warp.eq(self.scheduled_meta.warp),
                self.write.rd.eq(self.scheduled_meta.rd),
                self.write.mask.eq(self.scheduled_meta.mask),
                self.write.last.eq(1),
                self.write.data.eq(self.result),
            ]
        with m.Else():
            m.d.comb += [self.write_valid.eq(load_valid), self.write.eq(load)]
        return m
