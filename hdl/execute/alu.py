"""The integer ALU: RV32I arithmetic and logic, and Zicond."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import OP_BITS, AluOp
from ..lib.component import Component
from ..lib.shared import share_lanes
from .lanes import unit_ports

__all__ = ["AluLane", "AluUnit"]


class AluLane(Component):
    """One lane: a cycle with ``enable`` sets ``result`` to ``op`` of ``a`` and ``b``; otherwise it stays.

    One adder serves all operations except shifts, which share one shifter. ``result`` has no reset.
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
        a, b, op = self.a, self.b, self.op

        # One adder: a - b is a + ~b + 1 with the carry in as an extra low bit of both. Operations without a carry are
        # sums of bits of which at most one is set: OR of a & ~b and b, XOR of a & ~b and ~a & b, AND of a & b and 0.
        # Each of the two terms is one function of a, b and two bits for every place.
        subtract = Signal()
        no_both, no_first, invert, partial = Signal(), Signal(), Signal(), Signal()
        first, second = Signal(32), Signal(32)
        total = Signal(34)
        is_or, is_xor, is_and = op == AluOp.OR, op == AluOp.XOR, op == AluOp.AND
        is_conditional = (op == AluOp.CZERO_EQZ) | (op == AluOp.CZERO_NEZ)
        drop = is_conditional & ((b == 0) ^ (op == AluOp.CZERO_NEZ))
        m.d.comb += [
            subtract.eq((op == AluOp.SUB) | (op == AluOp.SLT) | (op == AluOp.SLTU)),
            no_both.eq(is_or | is_xor | drop),
            no_first.eq(is_and | drop),
            partial.eq(is_xor | is_and | is_conditional),
            invert.eq(subtract | is_xor),
            first.eq(a & ~(b & no_both.replicate(32)) & ~(~b & no_first.replicate(32))),
            second.eq(Mux(partial, ~a & b & invert.replicate(32), b ^ invert.replicate(32))),
            total.eq(Cat(subtract, first) + Cat(subtract, second)),
        ]
        less_unsigned = ~total[33]
        less = Mux(a[31] ^ b[31], a[31], less_unsigned)

        # A funnel shifter: 32 of the 63 bits. A shift left by s is a shift right by 31 - s of a in the upper bits.
        left = op == AluOp.SLL
        fill = a[31] & (op == AluOp.SRA)
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
        is_shift, is_comparison = Signal(), Signal()
        m.d.comb += [
            self.result.eq(result),
            is_shift.eq((op == AluOp.SLL) | (op == AluOp.SRL) | (op == AluOp.SRA)),
            is_comparison.eq((op == AluOp.SLT) | (op == AluOp.SLTU)),
        ]
        with m.If(self.enable):
            m.d.sync += result.eq((shifted & is_shift.replicate(32))
                                  | (total[1:33] & (~is_shift & ~is_comparison).replicate(32))
                                  | (is_comparison & Mux(op == AluOp.SLT, less, less_unsigned)))
        return m


class AluUnit(Component):
    """:class:`hdl.isa.ops.AluOp` over the lanes; latency 1, a new operation in every cycle.

    Ports as in :func:`hdl.execute.lanes.unit_ports`; ``result`` stays until the next operation. Nothing is reset:
    before the first operation ``result`` is undefined.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__(unit_ports(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for i, lane in enumerate(share_lanes(m, platform, AluLane, self._config.threads)):
            m.d.comb += [
                lane.enable.eq(self.valid & self.mask[i]),
                lane.op.eq(self.op),
                lane.a.eq(self.a[i]),
                lane.b.eq(self.b[i]),
                self.result[i].eq(lane.result),
            ]
        return m
