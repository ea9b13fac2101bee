"""Which registers wait for a result, and so which warps' heads are ready."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import Unit
from ..layouts.decoded import IssueInfo
from ..layouts.probe import StallReason

__all__ = ["REGISTERS", "Scoreboard"]

#: Integer and floating-point registers of a warp.
REGISTERS = 64


class Scoreboard(wiring.Component):
    """One pending bit per warp and register, and the readiness of every warp's head.

    - ``claim``: the instruction selected in this cycle writes ``claim_register`` of ``claim_warp``: pending from the
      next cycle.
    - ``release``: the value will be in the registers for an instruction selected in the next cycle.
    - ``ready[w]``: no operand and no destination of the head is pending, its unit is free (``unit_free``, by
      :class:`hdl.isa.ops.Unit`), its writeback slot is free (``slot_free``) where it writes a register, and what a
      fence or an access to fcsr waits for is over. A head that is a NOP is ready whatever this says: the front end
      knows that.
    - ``reason[w]``: why not (:class:`hdl.layouts.probe.StallReason`; NONE when ready).
    - ``pending_any[w]``: some register of the warp is pending.

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
            "release": In(1),
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
            self._judge(m, w, pending, by_load)
        return m

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
            self.pending_any[w].eq(pending.any()),
            hazard.eq(waits(pending)),
            unit_busy.eq(~self.unit_free.bit_select(unit, 1)),
            no_slot.eq(head.writes_rd & ~self.slot_free.bit_select(unit, 1)),
            drains.eq((head.drain & pending.any()) | (head.fence & self.stores_pending[w])),
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
