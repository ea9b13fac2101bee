"""Instruction-cache misses: which warp waits for which line, and the requests to memory."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.onehot import encode, lowest_one, select
from ..memory.port import icache_tag_bits, memory_port_signature

__all__ = ["MissUnit"]


class MissUnit(wiring.Component):
    """Suspends warps whose fetch missed, requests each line once, wakes the warps when it is there.

    - ``miss`` (cycle t+1 of the fetch, not squashed) with ``miss_warp`` and ``miss_line``: the warp is suspended from
      the next cycle on. Misses to one line share one request. When every miss register is taken, the warp waits for
      one: from the second cycle after the miss on it tries again in every cycle without a new miss, the lowest of the
      waiting warps first (after a success its successor skips one cycle).
    - ``release``: warps whose fetches are squashed in this cycle: their suspension ends; a request already made stays.
    - Memory answers in cycle c: ``refill_valid``, ``refill_line``, data and error go to the store in c, the warps
      that wait for the line (one that misses in c included) are not suspended from c+1 on, so they are selectable in
      c+1.
      ``woken`` says that there is such an answer, also where it is stale.
    - ``invalidate`` (fence.i): answers to requests made before it wake their warps but are not stored.

    ``pending_line``: the line of each suspended warp (of its pc, to which the miss has put it back).
    Reset: nothing suspended, no request.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self._count = config.icache_mshrs
        self._line_bits = 32 - (config.line_bytes - 1).bit_length()
        super().__init__({
            "miss": In(1),
            "miss_warp": In(config.warp_bits),
            "miss_line": In(self._line_bits),
            "release": In(config.warps),
            "invalidate": In(1),
            "pending_line": In(data.ArrayLayout(self._line_bits, config.warps)),
            "suspended": Out(config.warps),
            "woken": Out(1),
            "refill_valid": Out(1),
            "refill_line": Out(self._line_bits),
            "refill_data": Out(config.line_bytes * 8),
            "refill_error": Out(1),
            "mem": Out(memory_port_signature(config, tag_bits=icache_tag_bits(config))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal(self._count)
        sent = Signal(self._count)
        stale = Signal(self._count)
        lines = [Signal(self._line_bits, name=f"line_{i}") for i in range(self._count)]
        answered = self._answer(m, valid=valid, stale=stale, lines=lines)
        self._waiting = Signal(self._config.warps)
        turn, turn_line = self._choose(m)
        served = self._allocate(m, turn=turn, turn_line=turn_line, valid=valid, sent=sent, stale=stale, lines=lines,
                                answered=answered)
        self._suspend(m, turn=turn, served=served, answered=answered)
        self._request(m, valid=valid, sent=sent, lines=lines)
        return m

    def _answer(self, m: Module, *, valid: Signal, stale: Signal, lines: list[Signal]) -> Signal:
        """The miss register that memory answers in this cycle, one-hot."""
        answered = Signal(self._count)
        response = self.mem.response
        m.d.comb += [
            response.ready.eq(1),
            answered.eq(Mux(response.valid, (Const(1, self._count) << response.payload.tag)[: self._count], 0)),
            self.woken.eq(answered.any()),
            self.refill_valid.eq((answered & ~stale).any() & ~self.invalidate),
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
