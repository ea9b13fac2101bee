"""Which registers wait for a result, and so which warps' heads are ready."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import FLOAT_UNITS, Unit
from ..layouts.counters import REASON_BITS, StallReason
from ..layouts.decoded import IssueInfo
from ..lib.component import Component
from .writeback import ISSUE_TO_EXECUTE, takes_slot, unit_latencies

__all__ = ["REGISTERS", "Scoreboard"]

#: Integer and floating-point registers of a warp.
REGISTERS = 64


class Scoreboard(Component):
    """One pending bit per warp and register, and the readiness of every warp's head.

    A head is ready if none of its sources and not its destination is pending, its unit is free, its writeback slot is
    free where it needs one, and what a fence or an access to fcsr waits for is over. Of instructions that raise flags
    and write no register any number may be under way; only an access to fcsr waits for them.

    ``ready`` and ``reason`` are combinational. One claim and one release a cycle; a register that is claimed may not be
    pending. Reset: nothing pending.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        units = len(Unit)
        super().__init__({
            #: Every warp's next instruction, as the buffers hold it in this cycle.
            "heads": In(data.ArrayLayout(IssueInfo, config.warps)),
            "unit_free": In(units),  # by Unit: it can take an instruction that is selected in this cycle
            "slot_free": In(units),  # by Unit: the writeback cycle of an instruction selected now is free
            "stores_pending": In(config.warps),  # the warps with stores that memory has not completed
            #: One-hot: the warp whose instruction is selected now and writes a register; 0 for none.
            "claim": In(config.warps),
            "claim_register": In(6),  # that register, pending from the next cycle on
            "claim_load": In(1),  # the instruction is a load or store; tells LOAD from DATA in `reason`
            #: One-hot: the warp whose instruction is selected now, raises flags and writes no register.
            "claim_flags": In(config.warps),
            "release": In(1),  # a result will be in the registers for an instruction that is selected in the next cycle
            "release_flags": In(1),  # the same of an instruction that only raises flags
            "release_warp": In(config.warp_bits),  # whose; with either
            "release_register": In(6),  # which register; with `release`
            #: The warps whose head may be selected now; a NOP is ready whatever this says (the front end knows).
            "ready": Out(config.warps),
            #: Why a head is not ready, a StallReason; NONE when it is.
            "reason": Out(data.ArrayLayout(REASON_BITS, config.warps)),
            #: The warps of which some register, or an instruction that only raises flags, is pending.
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
            over = (self.release & (self.release_warp == w)).replicate(REGISTERS) & released
            m.d.sync += pending.eq((pending & ~over) | (self.claim[w].replicate(REGISTERS) & claimed))
            m.d.comb += self.pending_any[w].eq(pending.any() | self._flags_pending(m, w))
            self._judge(m, w, pending)
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

    def _hazards(self, m: Module, w: int, pending: Signal) -> tuple[Value, Value]:
        """The registers of one head that are pending, a bit each, and those of them that wait for a load."""
        head = self.heads[w]
        registers = ((head.use_rs1, head.rs1), (head.use_rs2, head.rs2), (head.use_rs3, head.rs3),
                     (head.writes_rd, head.rd))
        # What each register was claimed by last: it counts while the register is pending.
        m.submodules[f"by_load_{w}"] = by_load = Memory(shape=1, depth=REGISTERS, init=[])
        write = by_load.write_port()
        m.d.comb += [
            write.addr.eq(self.claim_register), write.data.eq(self.claim_load), write.en.eq(self.claim[w]),
        ]
        waits, loads = Signal(len(registers), name=f"waits_{w}"), Signal(len(registers), name=f"loads_{w}")
        for number, (used, register) in enumerate(registers):
            read = by_load.read_port(domain="comb")
            m.d.comb += [
                read.addr.eq(register),
                waits[number].eq(used & pending.bit_select(register, 1)),
                loads[number].eq(waits[number] & read.data),
            ]
        return waits, loads

    def _judge(self, m: Module, w: int, pending: Signal) -> None:
        """Readiness of one head, and the reason where it is not ready."""
        head = self.heads[w]
        waits, loads = self._hazards(m, w, pending)
        unit = head.unit.as_value()
        hazard = Signal(name=f"hazard_{w}")
        unit_busy = Signal(name=f"unit_busy_{w}")
        no_slot = Signal(name=f"no_slot_{w}")
        drains = Signal(name=f"drains_{w}")
        m.d.comb += [
            hazard.eq(waits.any()),
            unit_busy.eq(~self.unit_free.bit_select(unit, 1)),
            no_slot.eq(takes_slot(head) & ~self.slot_free.bit_select(unit, 1)),
            drains.eq((head.drain & self.pending_any[w]) | (head.fence & self.stores_pending[w])),
            self.ready[w].eq(~(hazard | unit_busy | no_slot | drains)),
        ]
        with m.If(hazard):
            m.d.comb += self.reason[w].eq(Mux(loads.any(), StallReason.LOAD, StallReason.DATA))
        with m.Elif(drains):
            m.d.comb += self.reason[w].eq(StallReason.DRAIN)
        with m.Elif(unit_busy):
            m.d.comb += self.reason[w].eq(StallReason.UNIT)
        with m.Elif(no_slot):
            m.d.comb += self.reason[w].eq(StallReason.WRITEBACK)
