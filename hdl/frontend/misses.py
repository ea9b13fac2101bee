"""Instruction-cache misses: which warp waits for which line, and the requests to memory."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.onehot import encode, lowest_one, one_hot, select
from ..memory.port import icache_tag_bits, memory_port_signature

__all__ = ["MissUnit"]


class MissUnit(wiring.Component):
    """Suspends warps whose fetch missed, requests each line once, wakes the warps when it is there.

    - ``miss`` (cycle t+1 of the fetch, not squashed) with ``miss_warp`` and ``miss_line``: the warp is suspended from
      the next cycle on. Misses to one line share one request. When every miss register is taken, the warp waits for
      one: from the second cycle after the miss on it tries again in every cycle without a new miss, the lowest of the
      waiting warps first (after a success its successor skips one cycle).
    - ``release``: warps whose fetches are squashed in this cycle: their suspension ends; a request already made stays.
            self.woken.eq(answered.any()),
            self.refill_valid.eq((answered & ~stale).any() & ~self.invalidate),
        ]
        m.d.sync += answered.eq(Mux(response.valid, one_hot(response.payload.tag, self._count), 0))
        with m.If(response.valid):
            m.d.sync += [
                self.refill_line.eq(Array(lines)[response.payload.tag]),
                self.refill_data.eq(response.payload.data),
                self.refill_error.eq(response.payload.error),
            ]
        return answered

    def _choose(self, m: Module) -> tuple[Signal, Signal]:
        """The warp, one-hot, and the line that try for a miss register in this cycle if there is no new miss.

        Chosen a cycle ahead; what has ended the warp's waiting in between takes it out.
        """
        warps = self._config.warps
        chosen, lowest = Signal(warps), Signal(warps)
        turn, line = Signal(warps), Signal(self._line_bits)
        m.d.comb += [
            lowest.eq(lowest_one(self._waiting)),
            turn.eq(chosen & self._waiting & ~self.release),
        ]
        m.d.sync += [chosen.eq(lowest), line.eq(select(lowest, [self.pending_line[i] for i in range(warps)]))]
        return turn, line

    def _allocate(self, m: Module, *, turn: Signal, turn_line: Signal, valid: Signal, sent: Signal, stale: Signal,
                  lines: list[Signal], answered: Signal) -> Signal:
        """Whether a miss register takes the miss: one that has its line already, else a free one.

        ``miss`` comes late in the cycle: both its line and ``turn``'s are compared before it is known.
        """
        free = Signal(self._count)
        any_free = Signal()
        m.d.comb += [free.eq(lowest_one(~valid)), any_free.eq((~valid).any())]
        asking = [(self.miss_line, Const(1)), (turn_line, turn.any())]
        shared, taken = Signal(2), Signal(data.ArrayLayout(self._count, 2))
        for case, (line, asks) in enumerate(asking):
            m.d.comb += [
                shared[case].eq(Cat(valid[i] & (register == line) for i, register in enumerate(lines)).any()),
                taken[case].eq(Mux(asks & ~shared[case], free, 0)),
            ]
        allocated = Signal(self._count)
        m.d.comb += allocated.eq(Mux(self.miss, taken[0], taken[1]))
        m.d.sync += valid.eq((valid & ~answered) | allocated)
        # A request made before fence.i may carry the old instructions; one made after it may not.
        with m.If(self.invalidate):
            m.d.sync += stale.eq(stale | (valid & sent))
        for i, register in enumerate(lines):
            with m.If(allocated[i]):
                m.d.sync += [register.eq(Mux(self.miss, self.miss_line, turn_line)), sent[i].eq(0), stale[i].eq(0)]
        served = Signal()
        m.d.comb += served.eq(any_free | Mux(self.miss, shared[0], shared[1]))
        return served

    def _suspend(self, m: Module, *, turn: Signal, served: Signal, answered: Signal) -> None:
        """Warps wake by line, not by register: one that still waits for a register may be served by another's miss."""
        comes = Signal()
        m.d.comb += comes.eq(answered.any() & (self.miss_line == self.refill_line))
        for i in range(self._config.warps):
            missing = self.miss & (self.miss_warp == i)
            wakes = answered.any() & (self.pending_line[i] == self.refill_line)
            with m.If(self.release[i]):
                m.d.sync += [self.suspended[i].eq(0), self._waiting[i].eq(0)]
            with m.Elif(missing):
                m.d.sync += [self.suspended[i].eq(~comes), self._waiting[i].eq(~comes & ~served)]
            with m.Elif(wakes):
                m.d.sync += [self.suspended[i].eq(0), self._waiting[i].eq(0)]
            with m.Elif(turn[i] & ~self.miss & served):
                m.d.sync += self._waiting[i].eq(0)

    def _request(self, m: Module, *, valid: Signal, sent: Signal, lines: list[Signal]) -> None:
        """Offers the lowest-numbered unsent miss until memory takes it."""
        offered = Signal(self._count)
        locked = Signal(self._count)
        m.d.comb += offered.eq(Mux(locked.any(), locked, lowest_one(valid & ~sent)))
        m.d.comb += [
            self.mem.request.valid.eq(offered.any()),
            self.mem.request.payload.line.eq(select(offered, lines)),
            self.mem.request.payload.tag.eq(encode(offered)),
        ]
        # Once offered, a request must not change until it is taken, even if a lower-numbered miss appears.
        with m.If(self.mem.request.valid & self.mem.request.ready):
            m.d.sync += locked.eq(0)
        with m.Else():
            m.d.sync += locked.eq(offered)
        for i in range(self._count):
            with m.If(offered[i] & self.mem.request.ready):
                m.d.sync += sent[i].eq(1)
