"""The comparison of a branch, lane by lane."""

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import OP_BITS, BranchOp
from ..lib.component import Component
from .lanes import lane_words

__all__ = ["BranchLanes"]


class BranchLanes(Component):
    """The lanes that take a branch (:class:`hdl.isa.ops.BranchOp`).

    Combinational and independent of the thread mask: the caller selects the lanes that count.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__({
            "op": In(OP_BITS),  # a BranchOp
            "a": In(lane_words(config)),  # first operands
            "b": In(lane_words(config)),  # second operands
            "taken": Out(config.threads),  # bit i: lane i takes the branch; all ones for JAL and JALR
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # With both sign bits inverted an unsigned comparison orders signed numbers.
        signed = (self.op == BranchOp.LT) | (self.op == BranchOp.GE)
        lanes = range(self._config.threads)
        equal = Cat(self.a[i] == self.b[i] for i in lanes)
        less = Cat(
            Cat(self.a[i][:31], self.a[i][31] ^ signed) < Cat(self.b[i][:31], self.b[i][31] ^ signed) for i in lanes
        )
        with m.Switch(self.op):
            with m.Case(BranchOp.EQ):
                m.d.comb += self.taken.eq(equal)
            with m.Case(BranchOp.NE):
                m.d.comb += self.taken.eq(~equal)
            with m.Case(BranchOp.LT, BranchOp.LTU):
                m.d.comb += self.taken.eq(less)
            with m.Case(BranchOp.GE, BranchOp.GEU):
                m.d.comb += self.taken.eq(~less)
            with m.Default():  # JAL, JALR
                m.d.comb += self.taken.eq(-1)
        return m
