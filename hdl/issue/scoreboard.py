"""The registers that wait for a result, and hence the warps whose heads are ready."""

from functools import reduce
from operator import and_, xor

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.latencies import unit_latencies
from ..isa.ops import FLOAT_UNITS, Unit
from ..layouts.counters import REASON_BITS, StallReason
from ..layouts.decoded import IssueInfo
from ..lib.component import Component
from ..lib.onehot import one_hot
from .writeback import load_release_signature, release_signature, takes_slot

__all__ = ["REGISTERS", "Scoreboard"]

#: Integer and floating-point registers of a warp.
REGISTERS = 64
#: Pending bits in a word of a memory: 16 words are one distributed memory (TRELLIS_DPR16X4 of ECP5).
_WORD = 4
_BIT_BITS = (_WORD - 1).bit_length()


class Scoreboard(Component):
    """One pending bit per warp and register, and the readiness of every warp's head.

    A head is ready if none of its sources nor its destination is pending, its unit is free, its writeback slot is free
    if it needs one, and no fence or fcsr condition holds it back. With ordered channels the LSU also needs room in the
    warp's channel, and an access to mregion waits until the LSU is idle, unless it begins a region that is already
    open. Any number of instructions that raise flags and write no register may be in flight; only an access to fcsr
    waits for them.

    ``ready`` and ``reason`` are combinational. One claim and one release on each port a cycle; a register that is
    claimed may not be pending. Reset: nothing pending.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        units = len(Unit)
        ordering: dict[str, wiring.Member] = {}
        if config.ordered:
            ordering = {
                "room": In(config.warps),  # the warps whose load or store the LSU can take, if it is free
                "memory_idle": In(1),  # nothing is in the LSU or on its way there
                "region": In(1),  # the measured region is open
            }
        super().__init__({
            **ordering,
            #: Every warp's next instruction, as the buffers hold it in this cycle.
            "heads": In(data.ArrayLayout(IssueInfo, config.warps)),
            "unit_free": In(units),  # by Unit: it can take an instruction that is selected in this cycle
            "slot_free": In(units),  # by Unit: the writeback cycle of an instruction selected now is free
            "stores_pending": In(config.warps),  # the warps with stores that memory has not completed
            #: One-hot: the warp whose head is selected now and writes a register, pending from the next cycle on; 0 for
            #: none.
            "claim": In(config.warps),
            #: One-hot: the warp whose head is selected now, raises flags and writes no register.
            "claim_flags": In(config.warps),
            "release": In(release_signature(config)),  # from the writeback
            **({"release_load": In(load_release_signature(config))} if config.operand_register else {}),
            #: The warps whose head may be selected now; a NOP is ready regardless (the front end handles it).
            "ready": Out(config.warps),
            #: Why a head is not ready, a StallReason; NONE when it is.
            "reason": Out(data.ArrayLayout(REASON_BITS, config.warps)),
            #: The warps of which some register, or an instruction that only raises flags, is pending.
            "pending_any": Out(config.warps),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports = [self.release, self.release_load] if self._config.operand_register else [self.release]
        for w in range(self._config.warps):
            releases = [(port.valid & (port.warp == w), port.register) for port in ports]
            waits, loads = self._hazards(m, w, releases)
            own = self.release.flags & (self.release.warp == w)
            self._count(m, w, [releases[0][0] | own, *(valid for valid, _ in releases[1:])])
            self._judge(m, w, waits, loads)
        return m

    def _hazards(self, m: Module, w: int, releases: list[tuple[Value, Value]]) -> tuple[Value, Value]:
        """The registers of one head that are pending, a bit each, and those of them that wait for a load.

        A register is pending if an odd number of its bits in the memories is set: a claim inverts one, a release on
        each port another one, so that each memory has one write port. Their words hold the bits of several registers,
        so writing a bit requires reading its word first; for a claim, the head's own reads of rd do that. A reset
        cannot clear a memory: a flip-flop per word records whether it was claimed since, and the first claim makes the
        number even.

        ``releases``: for each port, whether it releases a register of this warp, and which one.
        """
        head = self.heads[w]
        released = [f"released{port}" if port else "released" for port in range(len(releases))]
        memories = {
            # The last claim of each register (1: a load or store): it counts while the register is pending.
            name: Memory(shape=_WORD, depth=REGISTERS // _WORD, init=[]) for name in ("claimed", *released, "by_load")
        }
        writes = {}
        for name, memory in memories.items():
            m.submodules[f"{name}_{w}"] = memory
            writes[name] = memory.write_port()
        in_use = Signal(REGISTERS // _WORD, name=f"in_use_{w}")

        def word(name: str, register: Value) -> Value:
            port = memories[name].read_port(domain="comb")
            m.d.comb += port.addr.eq(register[_BIT_BITS:])
            return port.data

        registers = ((head.use_rs1, head.rs1), (head.use_rs2, head.rs2), (head.use_rs3, head.rs3),
                     (head.writes_rd, head.rd))
        waits, loads = Signal(len(registers), name=f"waits_{w}"), Signal(len(registers), name=f"loads_{w}")
        for number, (used, register) in enumerate(registers):
            words = {name: word(name, register) for name in memories}
            even = reduce(xor, (words[name] for name in released))
            differs = (words["claimed"] ^ even).bit_select(register[:_BIT_BITS], 1)
            known = in_use.bit_select(register[_BIT_BITS:], 1)
            m.d.comb += [
                waits[number].eq(used & known & differs),
                loads[number].eq(waits[number] & words["by_load"].bit_select(register[:_BIT_BITS], 1)),
            ]
        # `words`, `even` and `known` are those of rd.
        bit = one_hot(head.rd[:_BIT_BITS], _WORD)
        with m.If(self.claim[w]):
            m.d.sync += in_use.eq(in_use | one_hot(head.rd[_BIT_BITS:], len(in_use)))
        m.d.comb += [
            writes["claimed"].data.eq(Mux(known, words["claimed"], even) ^ bit),
            writes["by_load"].data.eq(Mux(head.unit == Unit.LSU, words["by_load"] | bit, words["by_load"] & ~bit)),
        ]
        for name, (valid, register) in zip(released, releases, strict=True):
            m.d.comb += [
                writes[name].addr.eq(register[_BIT_BITS:]),
                writes[name].data.eq(word(name, register) ^ one_hot(register[:_BIT_BITS], _WORD)),
                writes[name].en.eq(valid),
            ]
        for name in ("claimed", "by_load"):
            m.d.comb += [writes[name].addr.eq(head.rd[_BIT_BITS:]), writes[name].en.eq(self.claim[w])]
        return waits, loads

    def _count(self, m: Module, w: int, releases: list[Value]) -> None:
        """Count a warp's pending registers, and its instructions in flight that raise flags and write no register."""
        # One is selected a cycle, and each of the latter is released within its unit's latency and 2.
        flags = 2 + max(unit_latencies(self._config)[unit] for unit in FLOAT_UNITS)
        count = Signal(range(REGISTERS + flags), name=f"under_way_{w}")
        claimed = self.claim[w] | self.claim_flags[w]
        one, two = (reduce(xor, releases), reduce(and_, releases)) if releases[1:] else (releases[0], Const(0, 1))
        with m.If(claimed & ~(one | two)):
            m.d.sync += count.eq(count + 1)
        with m.Elif((~claimed & one) | (claimed & two)):
            m.d.sync += count.eq(count - 1)
        with m.Elif(~claimed & two):
            m.d.sync += count.eq(count - 2)
        m.d.comb += self.pending_any[w].eq(count.any())

    def _judge(self, m: Module, w: int, waits: Value, loads: Value) -> None:
        """Readiness of one head, and the reason if it is not ready."""
        head = self.heads[w]
        unit = head.unit.as_value()
        hazard = Signal(name=f"hazard_{w}")
        unit_busy = Signal(name=f"unit_busy_{w}")
        no_slot = Signal(name=f"no_slot_{w}")
        drains = Signal(name=f"drains_{w}")
        full, holds = Const(0, 1), Const(0, 1)
        if self._config.ordered:
            full = (head.unit == Unit.LSU) & ~self.room[w]
            holds = head.drain & head.fence & ~self.memory_idle & ~(head.store & self.region)
        m.d.comb += [
            hazard.eq(waits.any()),
            unit_busy.eq(~self.unit_free.bit_select(unit, 1) | full),
            no_slot.eq(takes_slot(head) & ~self.slot_free.bit_select(unit, 1)),
            drains.eq((head.drain & self.pending_any[w]) | (head.fence & self.stores_pending[w]) | holds),
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
