"""Which registers wait for a result, and so which warps' heads are ready."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import FLOAT_UNITS, Unit
from ..layouts.decoded import IssueInfo
from ..layouts.probe import StallReason
from .writeback import ISSUE_TO_EXECUTE, takes_slot, unit_latencies

__all__ = ["REGISTERS", "Scoreboard"]

#: Integer and floating-point registers of a warp.
REGISTERS = 64


class Scoreboard(wiring.Component):
    """One pending bit per warp and register, and the readiness of every warp's head.

    - ``claim``: the instruction selected in this cycle writes ``claim_register`` of ``claim_warp``: pending from the
      next cycle.
    - ``release``: the value will be in the registers for an instruction selected in the next cycle.
    - ``claim_flags`` and ``release_flags``: the same for an instruction that raises flags and writes no register. Any
      number of them may be under way; only an access to fcsr waits for them.
    - ``ready[w]``: no operand and no destination of the head is pending, its unit is free (``unit_free``, by
      :class:`hdl.isa.ops.Unit`), its writeback slot is free (``slot_free``) where it needs one, and what a fence
      or an access to fcsr waits for is over. A head that is a NOP is ready whatever this says: the front end
      knows that.
    - ``reason[w]``: why not (:class:`hdl.layouts.probe.StallReason`; NONE when ready).
    - ``pending_any[w]``: some register of the warp, or an instruction that only raises flags, is pending.

    Reset: nothing pending.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        units = len(Unit)
        super().__init__({
            "heads": In(data.ArrayLayout(IssueInfo, config.warps)),
            "unit_free": In(units),
            "slot_free": In(units),
            "stores_pending": In(config.warps),
            "claim": In(config.warps),
            "claim_register": In(6),
            "claim_load": In(1),
            "claim_flags": In(config.warps),
            "release": In(1),
            "release_flags": In(1),
            "release_warp": In(config.warp_bits),
            "release_register": In(6),
            "ready": Out(config.warps),
            "reason": Out(data.ArrayLayout(4, config.warps)),
            "pending_any": Out(config.warps),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        claimed = Signal(REGISTERS)
        released = Signal(REGISTERS)
        m.d.comb += [
            claimed.eq(Const(1, REGISTERS) << self.claim_register),
            released.eq(Const(1, REGISTERS) << self.release_register),
        ]
        for w in range(self._config.warps):
            pending = Signal(REGISTERS, name=f"pending_{w}")
            by_load = Signal(REGISTERS, name=f"by_load_{w}")
            with m.If(self.release & (self.release_warp == w)):
                with m.If(self.claim[w]):
                    m.d.sync += pending.eq(pending & ~released | claimed)
                with m.Else():
                    m.d.sync += pending.eq(pending & ~released)
            with m.Elif(self.claim[w]):
                m.d.sync += pending.eq(pending | claimed)
            with m.If(self.claim[w]):
                m.d.sync += by_load.eq(Mux(self.claim_load, by_load | claimed, by_load & ~claimed))
            m.d.comb += self.pending_any[w].eq(pending.any() | self._flags_pending(m, w))
            self._judge(m, w, pending, by_load)
        return m

    def _flags_pending(self, m: Module, w: int) -> Value:
        """Counts the instructions under way that raise flags of the warp and write no register."""
        # One is selected in a cycle, and each is released within its unit's latency and 2.
        most = ISSUE_TO_EXECUTE + max(unit_latencies(self._config)[unit] for unit in FLOAT_UNITS)
        count = Signal(range(most + 1), name=f"flags_pending_{w}")
        released = self.release_flags & (self.release_warp == w)
        with m.If(self.claim_flags[w] & ~released):
            m.d.sync += count.eq(count + 1)
        with m.Elif(~self.claim_flags[w] & released):
            m.d.sync += count.eq(count - 1)
        return count.any()

    def _judge(self, m: Module, w: int, pending: Signal, by_load: Signal) -> None:
        """Readiness of one head, and the reason where it is not ready."""
        head = self.heads[w]

        def waits(bits: Value) -> Value:
            return (
                (head.use_rs1 & bits.bit_select(head.rs1, 1))
                | (head.use_rs2 & bits.bit_select(head.rs2, 1))
                | (head.use_rs3 & bits.bit_select(head.rs3, 1))
                | (head.writes_rd & bits.bit_select(head.rd, 1))
            )

        unit = head.unit.as_value()
        hazard = Signal(name=f"hazard_{w}")
        unit_busy = Signal(name=f"unit_busy_{w}")
        no_slot = Signal(name=f"no_slot_{w}")
        drains = Signal(name=f"drains_{w}")
        m.d.comb += [
            hazard.eq(waits(pending)),
            unit_busy.eq(~self.unit_free.bit_select(unit, 1)),
            no_slot.eq(takes_slot(head) & ~self.slot_free.bit_select(unit, 1)),
            drains.eq((head.drain & self.pending_any[w]) | (head.fence & self.stores_pending[w])),
            self.ready[w].eq(~(hazard | unit_busy | no_slot | drains)),
        ]
        with m.If(hazard):
            m.d.comb += self.reason[w].eq(Mux(waits(pending & by_load), StallReason.LOAD, StallReason.DATA))
        with m.Elif(drains):
            m.d.comb += self.reason[w].eq(StallReason.DRAIN)
        with m.Elif(unit_busy):
            m.d.comb += self.reason[w].eq(StallReason.UNIT)
        with m.Elif(no_slot):
            m.d.comb += self.reason[w].eq(StallReason.WRITEBACK)
