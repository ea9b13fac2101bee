"""The multiplier of RV32M."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import MulOp
from ..lib.component import Component
from ..lib.shared import share_lanes
from .lanes import unit_ports

__all__ = ["MulLane", "MulUnit"]


class MulLane(Component):
    """One lane of ``stages`` registers: operands, two partial products, their sum (any number of times), the result.

    The 33 x 33 bit signed product is built from two products of 33 x 17 bits. A register directly follows the
    multipliers and none has a reset, so that tools can move them into DSP blocks. (It also keeps simulators within
    64-bit arithmetic.) With 3 stages the sum has no register; with 2 the partial products have none either.

    Each register keeps its value in a cycle in which its enable is 0. A product enabled in cycle c and advanced by bit
    k in c+1+k is the result in c + ``stages``; one may start in every cycle.
    """

    def __init__(self, *, stages: int):
        self._stages = stages
        super().__init__({
            "enable": In(1),  # take `a` and `b` into the first registers
            "advance": In(stages - 1),  # bit k: register k after the operands takes its value in this cycle
            "a": In(32),  # the first factor, in the cycle of `enable`
            "b": In(32),  # the second factor, in the cycle of `enable`
            "a_signed": In(1),  # `a` is two's complement; with `a`
            "b_signed": In(1),  # `b` is two's complement; with `b`
            #: With the highest bit of ``advance``: the result is bits 63..32 of the product, else bits 31..0.
            "high": In(1),
            "result": Out(32),  # registered: set by the highest bit of `advance`, from the next cycle on
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a = _register(m, self.enable, Cat(self.a, self.a[31] & self.a_signed).as_signed(), "operand_a")
        b = _register(m, self.enable, Cat(self.b, self.b[31] & self.b_signed).as_signed(), "operand_b")
        lower = a * Cat(b[:16], Const(0, 1)).as_signed()
        upper = a * b[16:].as_signed()
        if self._stages > 2:
            lower = _register(m, self.advance[0], lower, "lower")
            upper = _register(m, self.advance[0], upper, "upper")
        product: Value = Cat(lower[:16], (lower[16:].as_signed() + upper)[:48])
        for k in range(1, self._stages - 2):
            product = _register(m, self.advance[k], product, f"product{k}")
        result = _register(m, self.advance[self._stages - 2], Mux(self.high, product[32:], product[:32]), "selected")
        m.d.comb += self.result.eq(result)
        return m


def _register(m: Module, enable: Value, value: Value, name: str) -> Signal:
    """Hold ``value`` from the last cycle with ``enable``."""
    register = Signal(value.shape(), name=name, reset_less=True)
    with m.If(enable):
        m.d.sync += register.eq(value)
    return register


class MulUnit(Component):
    """:class:`hdl.isa.ops.MulOp` over the lanes; latency ``config.latency_mul``, a new operation in every cycle.

    Ports as in :func:`hdl.execute.lanes.unit_ports`. Reset empties the pipeline.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__(unit_ports(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stages = self._config.latency_mul
        # Element k belongs to the operation that has passed k + 1 registers; its mask is 0 if there is none.
        masks = [Signal(self._config.threads, name=f"mask{k}") for k in range(stages - 1)]
        high = Signal(stages - 1, reset_less=True)
        m.d.sync += high.eq(Cat(self.op != MulOp.MUL, high))
        for before, after in pairwise([Mux(self.valid, self.mask, 0), *masks]):
            m.d.sync += after.eq(before)
        for i, lane in enumerate(share_lanes(m, platform, MulLane, self._config.threads, stages=stages)):
            m.d.comb += [
                lane.enable.eq(self.valid & self.mask[i]),
                lane.advance.eq(Cat(mask[i] for mask in masks)),
                lane.a.eq(self.a[i]),
                lane.b.eq(self.b[i]),
                lane.a_signed.eq((self.op == MulOp.MULH) | (self.op == MulOp.MULHSU)),
                lane.b_signed.eq(self.op == MulOp.MULH),
                lane.high.eq(high[-1]),
                self.result[i].eq(lane.result),
            ]
        return m
