"""The registers that wait for a result, and hence the warps whose heads are ready."""

from functools import reduce
from operator import and_, xor

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.latencies import unit_latencies
from ..isa.ops import FLOAT_UNITS, Unit
from ..layouts.counters import REASON_BITS, StallReason
from ..layouts.decoded import IssueInfo
from ..layouts.signatures import ahead_signature
from ..lib.component import Component
from .pending import PendingRegisters
from .writeback import load_release_signature, release_signature, takes_slot

__all__ = ["Scoreboard", "head_layout"]


def head_layout() -> data.StructLayout:
    """The state of a head: everything about it that its readiness depends on."""
    return data.StructLayout({
        "waits": 4,  # the registers (:func:`_registers`) that it waits for
        "loads": 4,  # those among them that wait for a load; otherwise undefined
        "hazard": 1,  # it waits for one
        "unit": Unit,  # its unit
        "slot": 1,  # it needs a writeback slot
        "held": 1,  # it drains, and the warp has instructions in flight
        "drain": 1, "fence": 1, "store": 1,  # as in IssueInfo
    })


def _registers(info: data.View) -> tuple[tuple[Value, Value], ...]:
    """The registers that an instruction waits for: whether it has each of them, and the number."""
    return ((info.use_rs1, info.rs1), (info.use_rs2, info.rs2), (info.use_rs3, info.rs3), (info.writes_rd, info.rd))


class Scoreboard(Component):
    """One pending bit per warp and register, and the readiness of every warp's head.

    A head is ready if none of its sources nor its destination is pending, its unit is free, its writeback slot is free
    if it needs one, and no fence or fcsr condition holds it back. With ordered channels the LSU also needs room in the
    warp's channel, and an access to mregion waits until the LSU is idle, unless it begins a region that is already
    open. Any number of instructions that raise flags and write no register may be in flight; only an access to fcsr
    waits for them.

    With an operand register, the registers of a head are looked up in the cycle before, when it is known which
    instruction comes next: ``ready`` follows from registers and from units, slots and memory alone. It is the same.

    ``ready`` and ``reason`` are combinational. One claim and one release on each port a cycle; a register that is
    claimed may not be pending. Reset: nothing pending.

    ``asks``: whether it has the port of this name.
    """

    def __init__(self, config: SmConfig, *, asks: bool = False) -> None:
        self._config, self._asks = config, asks
        units = len(Unit)
        optional: dict[str, wiring.Member] = {}
        if config.ordered:
            optional = {
                "room": In(config.warps),  # the warps whose load or store the LSU can take, if it is free
                "memory_idle": In(1),  # nothing is in the LSU or on its way there
                "region": In(1),  # the measured region is open
            }
        if config.operand_register:
            optional |= {
                "release_load": In(load_release_signature(config)),  # from the writeback, for loads
                "ahead": In(ahead_signature(config)),  # from the front end: the next heads
                "pop": In(config.warps),  # one-hot or 0: the warp that is selected now, also with a NOP
            }
        if asks:
            optional["asks"] = Out(config.warps)  # the warps whose heads wait for nothing, or only for unit or slot
        super().__init__({
            **optional,
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
            #: The warps whose head may be selected now; a NOP is ready regardless (the front end handles it).
            "ready": Out(config.warps),
            #: Why a head is not ready, a StallReason; NONE when it is.
            "reason": Out(data.ArrayLayout(REASON_BITS, config.warps)),
            #: The warps of which some register, or an instruction that only raises flags, is pending.
            "pending_any": Out(config.warps),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        early = self._config.operand_register
        ports = [self.release, self.release_load] if early else [self.release]
        for w in range(self._config.warps):
            releases = [(port.valid & (port.warp == w), port.register) for port in ports]
            pending = PendingRegisters(m, self._config, w, len(ports))
            for port, release in enumerate(releases):
                pending.release(port, *release)
            own = self.release.flags & (self.release.warp == w)
            left = self._count(m, w, [releases[0][0] | own, *(valid for valid, _ in releases[1:])])
            head = self._early(m, w, pending, releases, left) if early else self._now(m, w, pending)
            self._judge(m, w, head)
        return m

    def _now(self, m: Module, w: int, pending: PendingRegisters) -> data.View:
        """The state of a warp's head, looked up in this cycle."""
        head, now = self.heads[w], Signal(head_layout(), name=f"now_{w}")
        self._describe(m, now, head)
        words = {}
        for number, (used, register) in enumerate(_registers(head)):
            # Those of rd, the last ones, serve the claim too.
            words = pending.words(register)
            m.d.comb += [
                now.waits[number].eq(used & pending.pending(words, register)),
                now.loads[number].eq(pending.by_load(words, register)),
            ]
        m.d.comb += [now.hazard.eq(now.waits.any()), now.held.eq(head.drain & self.pending_any[w])]
        pending.claim(self.claim[w], head, words)
        return now

    def _early(self, m: Module, w: int, pending: PendingRegisters, releases: list[tuple[Value, Value]],
               left: Value) -> data.View:
        """The same, from registers: in the cycle before, it was computed for a pop of this warp and for none.

        Without a pop, the registers that the head waits for can only become fewer. With one, the next head is the entry
        behind it, or this cycle's arrival; it also waits for what this head claims.
        ``left``: as :meth:`_count` returns.
        """
        ahead, head = self.ahead, self.heads[w]
        popped = Signal(name=f"popped_{w}")
        kept, moved = (Signal(head_layout(), name=f"{name}_{w}") for name in ("kept", "moved"))
        now, looked = Signal(head_layout(), name=f"now_{w}"), Signal(IssueInfo, name=f"looked_{w}")
        m.d.sync += popped.eq(self.pop[w])
        # Only `swas` never lets an instruction arrive at the head: its buffers are never empty.
        first = ahead.arrives_head[w] if "arrives_head" in ahead.signature.members else Const(0, 1)
        m.d.comb += [
            now.eq(Mux(popped, moved.as_value(), kept.as_value())),
            looked.eq(Mux(ahead.arrives[w] | first, ahead.arrival.as_value(), ahead.following[w].as_value())),
        ]
        after_pop, after_none = (Signal(head_layout(), name=f"after_{name}_{w}") for name in ("pop", "none"))
        self._describe(m, after_pop, looked)
        self._describe(m, after_none, data.View(IssueInfo, Mux(first, looked.as_value(), head.as_value())))
        claims = head.writes_rd & ~ahead.nops[w]

        def released(register: Value) -> Value:
            return Cat(valid & (register == its) for valid, its in releases).any()

        for number, ((used, register), (_, own)) in enumerate(zip(_registers(looked), _registers(head), strict=True)):
            words = pending.words(register)
            waits, load = Signal(name=f"found_{w}_{number}"), Signal(name=f"load_{w}_{number}")
            claimed = claims & (head.rd == register)
            m.d.comb += [
                waits.eq(used & pending.pending(words, register) & ~released(register)),
                load.eq(pending.by_load(words, register)),
                after_pop.waits[number].eq(waits | used & claimed),
                after_pop.loads[number].eq(Mux(claimed, head.unit == Unit.LSU, load)),
                after_none.waits[number].eq(Mux(first, waits, now.waits[number] & ~released(own))),
                after_none.loads[number].eq(Mux(first, load, now.loads[number])),
            ]
        m.d.comb += [
            after_pop.held.eq(looked.drain & (left | takes_slot(head) & ~ahead.nops[w])),
            after_none.held.eq(Mux(first, looked.drain, head.drain) & left),
        ]
        for after, state in ((after_pop, moved), (after_none, kept)):
            m.d.comb += after.hazard.eq(after.waits.any())
            m.d.sync += state.eq(after)
        pending.claim(self.claim[w], head, pending.words(head.rd))
        return now

    def _describe(self, m: Module, state: data.View, info: data.View) -> None:
        """Fill the part of a head's state that does not depend on registers."""
        m.d.comb += [
            state.unit.eq(info.unit),
            state.slot.eq(takes_slot(info)),
            *(state[name].eq(info[name]) for name in ("drain", "fence", "store")),
        ]

    def _count(self, m: Module, w: int, releases: list[Value]) -> Value:
        """Count a warp's pending registers, and its instructions in flight that raise flags and write no register.

        Return whether any are left after this cycle, without its claim. With an operand register, that is needed at
        once and a claim comes late: it is counted in the next cycle. No release is that early.
        """
        # One is selected a cycle, and each of the latter is released within its unit's latency and 2.
        flags = 2 + max(unit_latencies(self._config)[unit] for unit in FLOAT_UNITS)
        count = Signal(range(self._config.registers + flags), name=f"under_way_{w}")
        claimed, before = self.claim[w] | self.claim_flags[w], Value.cast(Const(0, 1))
        if self._config.operand_register:
            before = Signal(name=f"claimed_{w}")
            m.d.sync += before.eq(claimed)
            claimed = before
        one, two = (reduce(xor, releases), reduce(and_, releases)) if releases[1:] else (releases[0], Const(0, 1))
        with m.If(claimed & ~(one | two)):
            m.d.sync += count.eq(count + 1)
        with m.Elif((~claimed & one) | (claimed & two)):
            m.d.sync += count.eq(count - 1)
        with m.Elif(~claimed & two):
            m.d.sync += count.eq(count - 2)
        m.d.comb += self.pending_any[w].eq(before | count.any())
        return before | Mux(two, count != 2, Mux(one, count != 1, count != 0))

    def _judge(self, m: Module, w: int, head: data.View) -> None:
        """Readiness of one head, and the reason if it is not ready."""
        unit = head.unit.as_value()
        unit_busy = Signal(name=f"unit_busy_{w}")
        no_slot = Signal(name=f"no_slot_{w}")
        drains = Signal(name=f"drains_{w}")
        full, holds = Const(0, 1), Const(0, 1)
        if self._config.ordered:
            full = (head.unit == Unit.LSU) & ~self.room[w]
            holds = head.drain & head.fence & ~self.memory_idle & ~(head.store & self.region)
        m.d.comb += [
            unit_busy.eq(~self.unit_free.bit_select(unit, 1) | full),
            no_slot.eq(head.slot & ~self.slot_free.bit_select(unit, 1)),
            drains.eq(head.held | (head.fence & self.stores_pending[w]) | holds),
            self.ready[w].eq(~(head.hazard | unit_busy | no_slot | drains)),
        ]
        if self._asks:
            m.d.comb += self.asks[w].eq(~(head.hazard | drains))
        with m.If(head.hazard):
            m.d.comb += self.reason[w].eq(Mux((head.waits & head.loads).any(), StallReason.LOAD, StallReason.DATA))
        with m.Elif(drains):
            m.d.comb += self.reason[w].eq(StallReason.DRAIN)
        with m.Elif(unit_busy):
            m.d.comb += self.reason[w].eq(StallReason.UNIT)
        with m.Elif(no_slot):
            m.d.comb += self.reason[w].eq(StallReason.WRITEBACK)
