"""Proof harness of P8: the predictors between a free decode and free outcomes.

The component is the :class:`Predictors` of all warps. Its symbolic warp has a
program: each jump or branch that it decodes on its path has an arbitrary, real outcome. The reference
(:mod:`.ideal`) takes that outcome at once. The warp's outcomes come in the order of its decodes, at any later time, and
a wrong prediction is followed by decodes of a wrong path until its outcome redirects the warp. All else is free in
every cycle: when anything happens, what is on a wrong path, and everything that other warps do.

What is in decode was announced, with its warp and its pc, in the cycle before. The symbolic warp decodes nothing in the
cycle after its start or redirect, and after a prediction that it jumps: what was announced then has been squashed. If
it decodes in two cycles in a row, the pcs follow each other.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assume, ClockDomain, Const, Instance, Module, Mux, Signal, Value

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.prediction.predictors import Predictors
from metronome.hdl.layouts.prediction import outcome_layout

from .claims import Claims
from .ideal import Ideal, Spot, Word, event_layout, state_layout, told, wrong
from .inside import Internals

__all__ = ["PrivacyWorld"]


class PrivacyWorld(Claims):
    """The harness, without claims.

    ``base``: the reference's state after the outcomes that have come. ``state``: the same after all decodes on the
    warp's path. ``queue``: the jumps and branches between the two, the oldest first, ``held`` of them. ``right``: what
    is decoded next is on the path. ``dropped``: it was started, redirected or predicted to jump in the last cycle.
    ``follows``: what was announced may be decoded, as it follows what the warp decoded in the last cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self.m = m = Module()
        self.clock = ClockDomain("sync", reset_less=True)
        m.domains += self.clock
        self.claims, self.columns = {}, []
        self.dut = Predictors(config)
        self.inside = Internals(self.dut)
        m.submodules.predictors = self.inside.fragment
        self.warp = Signal(config.warp_bits, name="my_warp")
        m.submodules.any_warp = Instance("$anyconst", p_WIDTH=config.warp_bits, o_Y=self.warp)
        m.d.comb += Assume(self.warp < config.warps)
        self.spot = Spot.free(m, config)
        self.ideal = Ideal(m, config, self.spot)
        self._registers()
        self._decode()
        self._outcomes()
        self._follow()

    def ports(self) -> list[Value]:
        """Return the clock and all free inputs."""
        clock: Signal = self.clock.clk  # type: ignore[attr-defined]  # the stubs give a domain no signals
        dut = self.dut
        inputs = [dut.early_warp, dut.early_pc, dut.valid, dut.instruction, dut.direct, *self.free]
        return [clock, *(Value.cast(value) for value in inputs)]

    def _registers(self) -> None:
        config, layout = self.config, state_layout(self.config)
        #: A warp has at most d instructions in its buffer, and issues one a cycle; R cycles later its outcome is there.
        self.depth = config.buffer_depth + config.resolve_latency
        self.base, self.state = Signal(layout, name="base"), Signal(layout, name="state")
        self.queue = [Signal(event_layout(), name=f"event_{i}") for i in range(self.depth)]
        #: The reference's state after each of them.
        self.after = [Signal(layout, name=f"after_{i}") for i in range(self.depth)]
        self.held, self.right = Signal(range(self.depth + 1), name="held"), Signal(name="right", init=1)
        self.dropped, self.follows = Signal(name="dropped"), Signal(name="follows")

    def before(self, number: int) -> Any:
        """The reference's state before a jump or branch of the queue."""
        return self.after[number - 1] if number else self.base

    def _decode(self) -> None:
        """The instruction in decode, and what it will do if it is the symbolic warp's next one."""
        m, dut = self.m, self.dut
        self.word = word = Word(dut.instruction)
        self.decodes, self.event = Signal(), Signal(event_layout())
        self._taken, self._target, self._leaves = Signal(name="takes"), Signal(32, name="goes"), Signal(name="leaves")
        event = self.event
        mine = dut.valid & (dut.warp == self.warp)
        decoded, last_pc = Signal(name="decoded"), Signal(32, name="last_pc")
        m.d.sync += [
            dut.warp.eq(dut.early_warp), dut.pc.eq(dut.early_pc), decoded.eq(mine), last_pc.eq(dut.pc),
        ]
        m.d.comb += [
            dut.usual.eq(word.usual),
            self.decodes.eq(dut.valid & (dut.warp == self.warp) & self.right),
            event.pc.eq(dut.pc), event.word.eq(dut.instruction), event.predicted.eq(dut.predicted),
            event.prediction.eq(dut.prediction), event.target.eq(self._target),
            event.taken.eq(self._taken | ~word.conditional),
            event.wrong.eq(wrong(event)),
            self.follows.eq(~self.dropped & (~decoded | (dut.pc == (last_pc + 4)[:32]))),
            Assume(~mine | self.follows & ~(dut.start | dut.restore).bit_select(self.warp, 1)),
            Assume(~(self.decodes & word.jumps) | (self.held != self.depth)),
            Assume(~word.indirect | (dut.direct == dut.pc)),
        ]
        self.free: list[Value] = [self._taken, self._target, self._leaves]

    def _outcomes(self) -> None:
        """Outcomes, redirects and starts: free for other warps, in order for this one."""
        m, dut, config = self.m, self.dut, self.config
        free = Signal(outcome_layout(config), name="any_outcome")
        start, restore = Signal(config.warps, name="any_start"), Signal(config.warps, name="any_restore")
        self.free += [Value.cast(free), start, restore]
        first, outcome = self.queue[0], dut.outcome
        mine = Signal()
        self.settles = Signal()
        m.d.comb += [
            mine.eq(free.warp == self.warp), self.settles.eq(mine & free.valid & (self.held != 0)),
            outcome.eq(free), outcome.valid.eq(free.valid & (~mine | (self.held != 0))),
        ]
        with m.If(mine):
            m.d.comb += told(outcome, first, free)
        bit = (Const(1, config.warps) << self.warp)[:config.warps]
        # Without a fault, a warp that starts has nothing unsettled. A launch after a fault drops it.
        self.starts = (start & bit).any() & ~self.settles
        self.redirected = self.settles & first.wrong | (restore & bit).any() & (self.held == 0)
        jumps = dut.valid & (dut.warp == self.warp) & dut.predicted
        m.d.sync += self.dropped.eq(self.starts | self.redirected | jumps)
        m.d.comb += [
            dut.start.eq(start & ~bit | Mux(self.starts, bit, 0)),
            dut.restore.eq(restore & ~bit | Mux(self.redirected, bit, 0)),
        ]

    def _follow(self) -> None:
        """The reference takes each decode on the path; the queue lets go of what has settled."""
        m, word = self.m, self.word
        joins = Signal()
        m.d.comb += joins.eq(self.decodes & word.jumps)
        following = self.ideal.settle("following", self.state, self.event)
        left = Signal(range(self.depth + 1))
        m.d.comb += left.eq(self.held - self.settles)
        m.d.sync += self.held.eq(left + joins)
        for i in range(self.depth):
            if i + 1 < self.depth:
                with m.If(self.settles):
                    m.d.sync += [self.queue[i].eq(self.queue[i + 1]), self.after[i].eq(self.after[i + 1])]
            with m.If(joins & (left == i)):
                m.d.sync += [self.queue[i].eq(self.event), self.after[i].eq(following)]
        with m.If(self.settles):
            m.d.sync += self.base.eq(self.after[0])
        with m.If(joins):
            m.d.sync += self.state.eq(following)
        with m.If(self.redirected):
            m.d.sync += self.right.eq(1)
        # Other instructions may redirect, too: a join that waits, a fence.i, the end of the warp.
        with m.Elif(self.decodes & Mux(word.jumps, self.event.wrong, self._leaves)):
            m.d.sync += self.right.eq(0)
        with m.If(self.starts):
            m.d.sync += [self.base.eq(0), self.state.eq(0), self.held.eq(0), self.right.eq(1)]
