"""Instruction-cache misses: which warp waits for which line, and the requests to memory."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import LINE_NUMBER_BITS, SmConfig
from ..layouts.memory import memory_port_signature
from ..lib.component import Component
from ..lib.onehot import encode, lowest_one, one_hot, select
from ..policies.base import pick_after
from .signatures import refill_signature

__all__ = ["MissUnit"]


class MissUnit(Component):
    """Suspends warps whose fetch missed, requests each line once, wakes the warps when the line arrives.

    A lookup that misses in t+1 suspends its warp from t+2 on. In t+2 the warp asks for an MSHR; from t+3 on its request
    is offered to memory. Misses to one line share one request. If every MSHR is taken, the warp waits; the lowest
    waiting warp asks again in every cycle after one without a new miss.

    Memory answers in cycle c-1, and the answer is registered. In c it goes to the store, and the warps that wait for
    the line (including one that misses in c) are no longer suspended from c+1 on: they are selectable in c+1.

    Without an I-cache (``config.icache_bytes`` = 0) nothing is shared: MSHR w serves warp w only. A warp waits only
    while its own MSHR is busy with another line. The warps' requests are offered to memory in turn, so that no warp can
    block another's.

    One lookup and one answer a cycle. Reset: nothing suspended, no request.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self._count = config.fetch_requests
        self._shares = config.icache_bytes > 0
        members = {
            # Masks have one bit per warp.
            "lookup": In(config.warps),  # in t+1: the warp whose fetch is looked up (one-hot or 0); 0 if squashed
            "lookup_missed": In(1),  # in t+1, late: the lookup misses
            "lookup_line": In(LINE_NUMBER_BITS),  # in t+1: the line looked up
            #: Warps whose fetches are squashed: not suspended from the next cycle on. A miss already signalled keeps
            #: its request, or asks for an MSHR for the last time in this cycle.
            "release": In(config.warps),
            #: fence.i: answers to requests made before it wake their warps but are not stored.
            "invalidate": In(1),
            #: The line of each suspended warp's pc, which the miss has set back to the missed fetch.
            "pending_line": In(data.ArrayLayout(LINE_NUMBER_BITS, config.warps)),
            "suspended": Out(config.warps),  # registered: warps that wait for a line
            "woken": Out(config.warps),  # in c: the warps that an answer is for, even a stale one; all if shared
            "refill": Out(refill_signature(config)),  # in c: the line that enters the store
            "mem": Out(memory_port_signature(config, tag_bits=config.icache_tag_bits)),  # tag: the MSHR
        }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal(self._count)
        sent = Signal(self._count)
        stale = Signal(self._count)
        lines = [Signal(LINE_NUMBER_BITS, name=f"line_{i}") for i in range(self._count)]
        answered = self._answer(m, valid=valid, stale=stale, lines=lines)
        self._waiting = Signal(self._config.warps)
        warp, line = self._choose(m, valid=valid)
        grants = self._allocate(m, warp=warp, line=line, valid=valid, sent=sent, stale=stale, lines=lines,
                                answered=answered)
        self._suspend(m, warp=warp, grants=grants)
        self._request(m, valid=valid, sent=sent, lines=lines)
        return m

    def _answer(self, m: Module, *, valid: Signal, stale: Signal, lines: list[Signal]) -> Signal:
        """The MSHR that memory answered in the last cycle, one-hot.

        An answer may cross a whole chip, so no logic depends on it in the cycle in which it arrives.
        """
        answered = Signal(self._count)
        response = self.mem.response
        m.d.comb += [
            response.ready.eq(1),
            self.woken.eq(answered.any().replicate(self._config.warps) if self._shares else answered),
            self.refill.valid.eq((answered & ~stale).any() & ~self.invalidate),
        ]
        m.d.sync += answered.eq(Mux(response.valid, one_hot(response.payload.tag, self._count), 0))
        if not self._shares:
            m.d.comb += self.refill.warp.eq(encode(answered))
        with m.If(response.valid):
            m.d.sync += [
                self.refill.line.eq(Array(lines)[response.payload.tag]),
                self.refill.data.eq(response.payload.data),
                self.refill.error.eq(response.payload.error),
            ]
        return answered

    def _choose(self, m: Module, *, valid: Signal) -> tuple[Signal, Signal]:
        """The warp (one-hot) that asks for an MSHR in this cycle, and the line that it needs.

        It was chosen in the last cycle: the warp that missed then, else the lowest waiting one. It is dropped if it has
        been woken or served since.
        """
        config = self._config
        lowest = Signal(config.warps)
        missed = Signal(name="missed_before")
        chosen = {name: Signal(config.warps, name=f"{name}_warp") for name in ("missing", "waiting")}
        lines = {name: Signal(LINE_NUMBER_BITS, name=f"{name}_line") for name in chosen}
        warp = Signal(config.warps)
        line = Signal(LINE_NUMBER_BITS, name="wanted_line")
        m.d.comb += [
            lowest.eq(lowest_one(self._waiting if self._shares else self._waiting & ~valid)),
            warp.eq(Mux(missed, chosen["missing"], chosen["waiting"]) & self._waiting),
            line.eq(Mux(missed, lines["missing"], lines["waiting"])),
        ]
        # ``lookup_missed`` comes late in the cycle: both candidates are kept, and the choice is made in the next one.
        m.d.sync += [
            missed.eq(self.lookup_missed & self.lookup.any()),
            chosen["missing"].eq(self.lookup),
            lines["missing"].eq(self.lookup_line),
            chosen["waiting"].eq(lowest),
            lines["waiting"].eq(select(lowest, [self.pending_line[i] for i in range(config.warps)])),
        ]
        return warp, line

    def _allocate(self, m: Module, *, warp: Signal, line: Signal, valid: Signal, sent: Signal, stale: Signal,
                  lines: list[Signal], answered: Signal) -> Signal:
        """Give the miss an MSHR, and return whether one is free; misses to the same line share one."""
        its = (1 << self._count) - 1 if self._shares else warp
        same = Signal(self._count)
        free = Signal(self._count)
        granted = Signal(self._count)
        grants = Signal()
        m.d.comb += [
            same.eq(Cat(valid[i] & (lines[i] == line) for i in range(self._count)) & its),
            free.eq(lowest_one(~valid & its)),
            granted.eq(Mux(warp.any(), Mux(same.any(), same, free), 0)),
            grants.eq(warp.any() & (same.any() | (~valid & its).any())),
        ]
        m.d.sync += valid.eq((valid | granted) & ~answered)
        # A request made before fence.i may carry the old instructions; one made after it may not.
        with m.If(self.invalidate):
            m.d.sync += stale.eq(stale | (valid & sent))
        for i, register in enumerate(lines):
            with m.If(warp.any() & free[i] & ~same.any()):
                m.d.sync += [register.eq(line), sent[i].eq(0), stale[i].eq(0)]
        return grants

    def _suspend(self, m: Module, *, warp: Signal, grants: Signal) -> None:
        """Suspend warps. They wake by line, not by MSHR: another's miss may serve one that still waits for an MSHR."""
        comes = Signal()
        m.d.comb += comes.eq((self.lookup & self.woken).any() & (self.lookup_line == self.refill.line))
        for i in range(self._config.warps):
            wakes = self.woken[i] & (self.pending_line[i] == self.refill.line)
            served = wakes | warp[i] & grants
            # ``lookup_missed`` comes late in the cycle and selects between values for both outcomes.
            missing = Mux(self.release[i], 0, Mux(self.lookup[i], ~comes, Mux(wakes, 0, self.suspended[i])))
            asking = Mux(self.release[i], 0, Mux(self.lookup[i], ~comes, Mux(served, 0, self._waiting[i])))
            m.d.sync += [
                self.suspended[i].eq(Mux(self.lookup_missed, missing, self.suspended[i] & ~(self.release[i] | wakes))),
                self._waiting[i].eq(Mux(self.lookup_missed, asking, self._waiting[i] & ~(self.release[i] | served))),
            ]

    def _request(self, m: Module, *, valid: Signal, sent: Signal, lines: list[Signal]) -> None:
        """Offer an unsent miss until memory takes it: the lowest-numbered one, or without an I-cache each in turn."""
        offered = Signal(self._count)
        locked = Signal(self._count)
        accepted = self.mem.request.valid & self.mem.request.ready
        unsent = valid & ~sent
        following = lowest_one(unsent)
        if not self._shares:
            last = Signal(self._count, name="sent_last")
            following = pick_after(last, unsent)
            with m.If(accepted):
                m.d.sync += last.eq(offered)
        m.d.comb += offered.eq(Mux(locked.any(), locked, following))
        m.d.comb += [
            self.mem.request.valid.eq(offered.any()),
            self.mem.request.payload.line.eq(select(offered, lines)),
            self.mem.request.payload.tag.eq(encode(offered)),
        ]
        # Once offered, a request must not change until it is taken, even if a lower-numbered miss appears.
        with m.If(accepted):
            m.d.sync += locked.eq(0)
        with m.Else():
            m.d.sync += locked.eq(offered)
        for i in range(self._count):
            with m.If(offered[i] & self.mem.request.ready):
                m.d.sync += sent[i].eq(1)
