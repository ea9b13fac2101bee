"""The integer ALU: RV32I arithmetic and logic, and Zicond."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import OP_BITS, AluOp
from ..lib.component import Component
from ..lib.shared import share
from .lanes import unit_ports

__all__ = ["AluLane", "AluUnit"]


class AluLane(Component):
    """One lane: ``result`` becomes ``op`` of ``a`` and ``b`` at the end of a cycle with ``enable``, and else stays.

    One adder serves addition, subtraction and both comparisons, one shifter all shifts. ``result`` has no reset.
    """

    def __init__(self) -> None:
        super().__init__({
            "enable": In(1),  # take an operation: `result` is its value from the next cycle on
            "op": In(OP_BITS),  # an AluOp, in the cycle of `enable`, as `a` and `b`
            "a": In(32),  # the first operand
            "b": In(32),  # the second operand; a shift takes its five low bits
            "result": Out(32),  # of the last operation taken; from a register
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b = self.a, self.b

        # a + b, or a - b as a + ~b + 1 with the carry in as an extra low bit of both. Bit 32 is the carry.
        subtract = Signal()
        total = Signal(33)
        m.d.comb += [
            subtract.eq(self.op != AluOp.ADD),
            total.eq((Cat(subtract, a) + Cat(subtract, Mux(subtract, ~b, b)))[1:]),
        ]
        less_unsigned = ~total[32]
        less = Mux(a[31] ^ b[31], a[31], less_unsigned)

        # A funnel: 32 of the 63 bits. A shift left by s is a shift right by 31 - s of a in the upper bits.
        left = self.op == AluOp.SLL
        fill = a[31] & (self.op == AluOp.SRA)
        amount = Signal(5)
        shifted = Signal(63)
        m.d.comb += [
            amount.eq(Mux(left, ~b[:5], b[:5])),
            shifted.eq(Mux(left, Cat(Const(0, 31), a), Cat(a, Mux(fill, Const(-1, 31), 0)))),
        ]
        for stage in reversed(range(5)):
            wider, shifted = shifted, Signal(31 + (1 << stage), name=f"shifted{stage}")
            m.d.comb += shifted.eq(Mux(amount[stage], wider[1 << stage:], wider))

        result = Signal(32, reset_less=True)
        m.d.comb += self.result.eq(result)
        with m.If(self.enable), m.Switch(self.op):
            with m.Case(AluOp.SLL, AluOp.SRL, AluOp.SRA):
                m.d.sync += result.eq(shifted)
            with m.Case(AluOp.SLT):
                m.d.sync += result.eq(less)
            with m.Case(AluOp.SLTU):
                m.d.sync += result.eq(less_unsigned)
            with m.Case(AluOp.XOR):
                m.d.sync += result.eq(a ^ b)
            with m.Case(AluOp.OR):
                m.d.sync += result.eq(a | b)
            with m.Case(AluOp.AND):
                m.d.sync += result.eq(a & b)
            with m.Case(AluOp.CZERO_EQZ):
                m.d.sync += result.eq(Mux(b == 0, 0, a))
            with m.Case(AluOp.CZERO_NEZ):
                m.d.sync += result.eq(Mux(b == 0, a, 0))
            with m.Default():  # ADD, SUB
                m.d.sync += result.eq(total[:32])
        return m


class AluUnit(Component):
    """:class:`hdl.isa.ops.AluOp` over the lanes; latency 1, a new operation in every cycle.

    Ports as in :func:`hdl.execute.lanes.unit_ports`; ``result`` stays until the next operation. Nothing is reset:
    before the first operation ``result`` means nothing.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__(unit_ports(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i in range(self._config.threads):
            lane = share(m, platform, f"lane{i}", AluLane)
            m.d.comb += [
                lane.enable.eq(self.valid & self.mask[i]),
                lane.op.eq(self.op),
                lane.a.eq(self.a[i]),
                lane.b.eq(self.b[i]),
                self.result[i].eq(lane.result),
            ]
        return m
