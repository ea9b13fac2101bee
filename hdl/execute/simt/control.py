"""SIMT control: thread masks, split and join, predicates, spawning and ending of warps, barriers."""

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config import FaultCause, SmConfig
from ...isa.ops import OP_BITS, SimtOp
from ...layouts.barrier import arrival_signature
from ...layouts.control import activation_layout
from ...lib.component import Component
from ...lib.onehot import one_hot
from .barriers import Barriers
from .stack import DivergenceStack

__all__ = ["SimtControl"]


class SimtControl(Component):
    """The warps' thread masks and everything that changes them (isa.md, "SIMT instructions").

    Latency 1: an instruction in stage X in cycle c changes the state at the end of c; there may be one in every cycle.
    The outputs about it (``result`` to ``ended``, ``fault``) hold in c and are combinational. A warp starts with thread
    mask 1 and an empty stack. Reset: no warp is active.
    """

    def __init__(self, config: SmConfig, *, between_sms: bool = False) -> None:
        self._config, self._between_sms = config, between_sms
        optional: dict[str, wiring.Member] = {}
        if between_sms:
            #: The barrier of all SMs, at which a bar with bit 31 of its id waits. From registers.
            optional["barrier"] = Out(arrival_signature(config))
        super().__init__({
            **optional,
            "start": In(1),  # launch: warp 0 starts in this cycle
            "start_pc": In(32),  # the start address; with `start`
            "peek_warp": In(config.warp_bits),  # the warp of the instruction that is in stage X in the next cycle
            "valid": In(1),  # a SIMT instruction is in stage X; the state changes at the end of this cycle
            "op": In(OP_BITS),  # a SimtOp; with `valid`, as all inputs below
            "warp": In(config.warp_bits),  # its warp: `peek_warp` of the cycle before
            "mask": In(config.threads),  # the warp's thread mask
            "pc": In(32),  # the address of the instruction
            "predicate": In(config.threads),  # bit i: bit 0 of rs1 of lane i (split, pred)
            "negate": In(1),  # the predicate is inverted (split, pred)
            "leader_rs1": In(32),  # rs1 of the highest active lane: mask, pointer, barrier or number of warps
            "leader_rs2": In(32),  # rs2 of the highest active lane: mask, count or pc
            "masks": Out(data.ArrayLayout(config.threads, config.warps)),  # every warp's thread mask; from registers
            "active": Out(config.warps),  # the warps that have started and not ended; from registers
            "waiting": Out(config.warps),  # the warps at a barrier or in wspawn; from registers
            "result": Out(32),  # the value for split's rd: the stack pointer before it
            "redirect": Out(1),  # the warp continues at `target` (join), or has ended
            "target": Out(32),  # the next pc; undefined if the warp has ended
            "waits": Out(1),  # the instruction does not resolve yet (bar, wspawn); `release` follows later
            "ended": Out(1),  # the warp's mask becomes 0, so the warp has ended
            "release": Out(config.warps),  # the warps whose bar or wspawn is over in this cycle
            #: The warps that start in this cycle, and where: by ``start`` or wspawn.
            "activation": Out(activation_layout(config)),
            "fault": Out(1),  # the instruction may not be executed, and changes nothing
            "cause": Out(5),  # a FaultCause; with `fault`
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.stack = stack = DivergenceStack(config)
        m.submodules.barriers = barriers = Barriers(config)
        m.d.comb += [stack.peek_warp.eq(self.peek_warp), self.result.eq(stack.pointer)]
        mask = Signal(config.threads)
        m.d.comb += mask.eq(self.mask)
        if self._between_sms:
            #: A warp arrives at the barrier between SMs; the warps that wait there.
            self._arrives, self._outside = Signal(), Signal(config.warps)
            self._wait_outside(m)
        with m.If(self.valid):
            with m.Switch(self.op):
                with m.Case(SimtOp.TMC):
                    m.d.comb += mask.eq(self.leader_rs1)
                with m.Case(SimtOp.PRED):
                    holds = self._holds()
                    m.d.comb += mask.eq(Mux(holds.any(), holds, self.leader_rs2))
                with m.Case(SimtOp.SPLIT):
                    self._split(m, stack, mask)
                with m.Case(SimtOp.JOIN):
                    self._join(m, stack, mask)
                with m.Case(SimtOp.BAR):
                    self._bar(m, barriers)
        with m.If(self.valid & ~mask.any()):
            m.d.comb += [self.ended.eq(1), self.redirect.eq(1)]
        spawned = self._spawn(m)
        self._update(m, mask=mask, spawned=spawned, stack=stack)
        release, waiting = barriers.released | spawned, barriers.waiting | self._spawning
        if self._between_sms:
            release |= Mux(self.barrier.release, self._outside, 0)
            waiting |= self._outside
        m.d.comb += [self.release.eq(release), self.waiting.eq(waiting)]
        return m

    def _holds(self) -> Value:
        """The active lanes whose predicate, negated if the instruction says so, is true."""
        return self.mask & (self.predicate ^ self.negate.replicate(self._config.threads))

    def _split(self, m: Module, stack: DivergenceStack, mask: Signal) -> None:
        """Run the side with more lanes first (the predicate-true side at a tie); the other one waits on the stack."""
        config = self._config
        holds = self._holds()
        fails = self.mask & ~holds
        diverges = holds.any() & fails.any()
        true_first = _count(holds) >= _count(fails)
        full = stack.pointer == config.stack_depth
        m.d.comb += [
            stack.pushed.union.eq(self.mask),
            stack.pushed.other.eq(Mux(true_first, fails, holds)),
            stack.pushed.pc.eq(self.pc + 4),
            stack.push.eq(diverges & ~full),
            self.fault.eq(diverges & full),
            self.cause.eq(FaultCause.STACK_OVERFLOW),
        ]
        with m.If(diverges & ~full):
            m.d.comb += mask.eq(Mux(true_first, holds, fails))

    def _join(self, m: Module, stack: DivergenceStack, mask: Signal) -> None:
        """Equal pointers: the split did not diverge. First visit: run the other side; second: run the union."""
        # A pointer has few bits: any higher one is an error.
        low, high = self.leader_rs1[:len(stack.pointer)], self.leader_rs1[len(stack.pointer):].any()
        with m.If(high | (low != stack.pointer)):
            with m.If(high | (stack.pointer == 0) | (low > stack.pointer)):
                m.d.comb += [self.fault.eq(1), self.cause.eq(FaultCause.STACK_UNDERFLOW)]
            with m.Elif(stack.top.visited):
                m.d.comb += [mask.eq(stack.top.union), stack.pop.eq(1)]
            with m.Else():
                m.d.comb += [
                    mask.eq(stack.top.other),
                    stack.visit.eq(1),
                    self.redirect.eq(1),
                    self.target.eq(stack.top.pc),
                ]

    def _bar(self, m: Module, barriers: Barriers) -> None:
        inside: Value = self.leader_rs2 != 1
        if self._between_sms:
            outside = self.leader_rs1[31] & inside
            inside &= ~self.leader_rs1[31]
            m.d.comb += self._arrives.eq(outside)
            with m.If(outside):
                m.d.comb += self.waits.eq(1)
        with m.If(inside):
            m.d.comb += [
                barriers.arrive.eq(1),
                barriers.warp.eq(self.warp),
                barriers.id.eq(self.leader_rs1),
                barriers.count.eq(self.leader_rs2),
                self.waits.eq(~barriers.released.any()),
            ]

    def _wait_outside(self, m: Module) -> None:
        """Collect the warps that wait at the barrier between SMs; it has the SM when no other warp is active."""
        barrier = self.barrier
        m.d.comb += barrier.arrived.eq(self._outside.any() & ~(self.active & ~self._outside).any())
        with m.If(self._arrives):
            m.d.sync += [
                self._outside.eq(self._outside | one_hot(self.warp, self._config.warps)),
                barrier.id.eq(self.leader_rs1 & (self._config.barriers - 1)), barrier.count.eq(self.leader_rs2),
            ]
        with m.Elif(barrier.release):
            m.d.sync += self._outside.eq(0)

    def _spawn(self, m: Module) -> Signal:
        """Make wspawn wait until its warp is the only active one; in that cycle start the others and release it."""
        config = self._config
        self._spawning = Signal(config.warps)
        targets = Signal(config.warps)
        pc = Signal(32)
        spawned = Signal(config.warps)
        alone = Signal()
        below = Signal(config.warps)
        arrives = self.valid & (self.op == SimtOp.WSPAWN)
        m.d.comb += [
            alone.eq((self.active & (self.active - 1)) == 0),
            spawned.eq(Mux(alone, self._spawning & self.active, 0)),
            # Warps below n; an n of num_warps or more shifts every bit out.
            below.eq(~(Const((1 << config.warps) - 1, config.warps) << self.leader_rs1[:_shift_bits(config)])),
        ]
        with m.If(arrives):
            m.d.comb += self.waits.eq(1)
            m.d.sync += [
                # Two warps that wait for each other never proceed; each is still seen as waiting.
                self._spawning.eq(self._spawning | one_hot(self.warp, config.warps)),
                targets.eq(
                    Mux(self.leader_rs1 >= config.warps, (1 << config.warps) - 1, below)
                    & ~one_hot(self.warp, config.warps)
                ),
                pc.eq(self.leader_rs2),
            ]
        with m.Elif(spawned.any()):
            m.d.sync += self._spawning.eq(0)
        with m.If(self.start):
            m.d.comb += [self.activation.warps.eq(1), self.activation.pc.eq(self.start_pc)]
        with m.Else():
            m.d.comb += [self.activation.warps.eq(Mux(spawned.any(), targets, 0)), self.activation.pc.eq(pc)]
        return spawned

    def _update(self, m: Module, *, mask: Signal, spawned: Signal, stack: DivergenceStack) -> None:
        config = self._config
        m.d.comb += stack.clear.eq(self.activation.warps)
        mine = Signal(config.warps)
        m.d.comb += mine.eq(Mux(self.valid, one_hot(self.warp, config.warps), 0))
        for w in range(config.warps):
            with m.If(self.activation.warps[w]):
                m.d.sync += [self.masks[w].eq(1), self.active[w].eq(1)]
            with m.Elif(mine[w]):
                m.d.sync += [self.masks[w].eq(mask), self.active[w].eq(mask.any())]


def _count(lanes: Value) -> Value:
    return sum((lanes[i] for i in range(len(lanes))), Const(0, 1))


def _shift_bits(config: SmConfig) -> int:
    """Enough bits of wspawn's n to shift by every number below num_warps."""
    return max(1, (config.warps - 1).bit_length())
