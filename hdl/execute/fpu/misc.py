"""The operations of RV32F that need no rounding: signs, minimum and maximum, comparisons, classification, moves."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.enum import EnumView
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...isa.ops import OP_BITS, FmiscOp
from ...lib.component import Component
from ...lib.shared import share_lanes
from .formats import CANONICAL_NAN
from .ports import fpu_ports

__all__ = ["FmiscLane", "FmiscUnit"]

_INFINITY = 0x7F80_0000


class FmiscLane(Component):
    """One lane of ``stages`` registers: operands, result (any number of times).

    Each register keeps its value in a cycle in which its enable is 0. An operation enabled in cycle c and advanced by
    bit k in c+1+k has its result in c + ``stages``; one may start in every cycle. Nothing is reset.
    """

    def __init__(self, *, stages: int):
        self._stages = stages
        super().__init__({
            "enable": In(1),  # take an operation
            "advance": In(stages - 1),  # bit k: register k after the first takes its value in this cycle
            "op": In(OP_BITS),  # an FmiscOp, in the cycle of `enable`, as `a` and `b`
            "a": In(32),  # rs1
            "b": In(32),  # rs2
            "result": Out(32),  # from the cycle after the highest bit of `advance`, until the next; from a register
            "invalid": Out(1),  # NV of that result, as long as it stays
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a = Signal(32, reset_less=True)
        b = Signal(32, reset_less=True)
        op = Signal(FmiscOp, reset_less=True)
        with m.If(self.enable):
            m.d.sync += [a.eq(self.a), b.eq(self.b), op.eq(self.op)]

        value, invalid = _values(m, op, a, b)
        for k in range(self._stages - 2):
            value_register = Signal(32, name=f"value{k}", reset_less=True)
            invalid_register = Signal(name=f"invalid{k}", reset_less=True)
            with m.If(self.advance[k]):
                m.d.sync += [value_register.eq(value), invalid_register.eq(invalid)]
            value, invalid = value_register, invalid_register

        last = Signal(32, reset_less=True)
        last_invalid = Signal(reset_less=True)
        with m.If(self.advance[-1]):
            m.d.sync += [last.eq(value), last_invalid.eq(invalid)]
        m.d.comb += [self.result.eq(last), self.invalid.eq(last_invalid)]
        return m


def _values(m: Module, op: EnumView[FmiscOp], a: Value, b: Value) -> tuple[Signal, Signal]:
    """The result and NV, combinational."""
    a_nan, b_nan = Signal(), Signal()
    m.d.comb += [a_nan.eq(_is_nan(a)), b_nan.eq(_is_nan(b))]
    signalling = (a_nan & ~a[22]) | (b_nan & ~b[22])
    unordered = a_nan | b_nan
    both_zero = (a[:31] | b[:31]) == 0
    # Numbers as sign and magnitude. -0 is below +0 here, as min and max require.
    smaller, same, below = Signal(), Signal(), Signal()
    m.d.comb += [
        smaller.eq(a[:31] < b[:31]),
        same.eq(a[:31] == b[:31]),
        below.eq(Mux(a[31] ^ b[31], a[31], Mux(a[31], ~smaller & ~same, smaller))),
    ]
    less = below & ~both_zero & ~unordered
    equal = ((same & ~(a[31] ^ b[31])) | both_zero) & ~unordered

    extreme = (op == FmiscOp.FMIN) | (op == FmiscOp.FMAX)
    take_a = b_nan | (~a_nan & (below ^ (op == FmiscOp.FMAX)))
    # The word is a, b, the canonical NaN or none of them, in which case its low bits are those of `truth`.
    use_a, use_b, use_nan = Signal(), Signal(), Signal()
    sign, invalid = Signal(), Signal()
    truth = Signal(10)
    m.d.comb += [use_a.eq(1), sign.eq(a[31])]
    with m.If(extreme):
        m.d.comb += [
            use_nan.eq(a_nan & b_nan), use_a.eq(take_a & ~use_nan), use_b.eq(~take_a & ~use_nan),
            sign.eq(Mux(take_a, a[31], b[31]) & ~use_nan), invalid.eq(signalling),
        ]
    with m.Switch(op):
        with m.Case(FmiscOp.FSGNJ):
            m.d.comb += sign.eq(b[31])
        with m.Case(FmiscOp.FSGNJN):
            m.d.comb += sign.eq(~b[31])
        with m.Case(FmiscOp.FSGNJX):
            m.d.comb += sign.eq(a[31] ^ b[31])
        with m.Case(FmiscOp.FEQ):
            m.d.comb += [use_a.eq(0), sign.eq(0), truth.eq(equal), invalid.eq(signalling)]
        with m.Case(FmiscOp.FLT):
            m.d.comb += [use_a.eq(0), sign.eq(0), truth.eq(less), invalid.eq(unordered)]
        with m.Case(FmiscOp.FLE):
            m.d.comb += [use_a.eq(0), sign.eq(0), truth.eq(less | equal), invalid.eq(unordered)]
        with m.Case(FmiscOp.FCLASS):
            m.d.comb += [use_a.eq(0), sign.eq(0), truth.eq(_class_mask(a))]
    value = Signal(32)
    m.d.comb += value.eq(Cat((a[:31] & use_a.replicate(31)) | (b[:31] & use_b.replicate(31))
                             | (CANONICAL_NAN & use_nan.replicate(31)) | truth, sign))
    return value, invalid


def _is_nan(value: Value) -> Value:
    return value[23:31].all() & value[:23].any()


def _class_mask(value: Value) -> Value:
    """The ten bits of ``fclass.s``."""
    fraction = value[:23] != 0
    largest = value[23:31].all()
    smallest = ~value[23:31].any()
    nan, infinite = largest & fraction, largest & ~fraction
    zero, subnormal, normal = smallest & ~fraction, smallest & fraction, ~(smallest | largest)
    kinds = Cat(zero, subnormal, normal, infinite)
    negative, positive = Mux(value[31], kinds[::-1], Const(0, 4)), Mux(value[31], Const(0, 4), kinds)
    return Cat(negative, positive, nan & ~value[22], nan & value[22])


class FmiscUnit(Component):
    """:class:`hdl.isa.ops.FmiscOp` over the lanes; latency ``config.latency_fmisc``, a new operation in every cycle.

    Ports as in :func:`hdl.execute.fpu.ports.fpu_ports`, NV the only flag. Reset empties the pipeline.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__(fpu_ports(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stages = self._config.latency_fmisc
        # Element k belongs to the operation that has passed k + 1 registers; its mask is 0 if there is none.
        masks = [Signal(self._config.threads, name=f"mask{k}") for k in range(stages)]
        for before, after in pairwise([Mux(self.valid, self.mask, 0), *masks]):
            m.d.sync += after.eq(before)
        for i, lane in enumerate(share_lanes(m, platform, FmiscLane, self._config.threads, stages=stages)):
            m.d.comb += [
                lane.enable.eq(self.valid & self.mask[i]),
                lane.advance.eq(Cat(mask[i] for mask in masks[:-1])),
                lane.op.eq(self.op),
                lane.a.eq(self.a[i]),
                lane.b.eq(self.b[i]),
                self.result[i].eq(lane.result),
                # The lane's register keeps the flag of its last operation.
                self.flags[i].eq((masks[-1][i] & lane.invalid) << 4),
            ]
        return m
