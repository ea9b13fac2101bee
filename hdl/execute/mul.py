"""The multiplier of RV32M."""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..isa.ops import MulOp
from .lanes import unit_ports

__all__ = ["MulLane", "MulUnit"]


class MulLane(wiring.Component):
    """One lane: operand registers, a 33 x 33 bit signed product, ``stages - 2`` product registers, a result register.

    The product registers directly follow the multiplier and have no reset, so that tools can move them into DSP blocks.
    Each register keeps its value in a cycle in which its enable is 0: ``enable`` for the operands, ``advance[k]`` for
    register k after them.
    """

    def __init__(self, *, stages: int):
        self._stages = stages
        super().__init__({
            "enable": In(1),
            "advance": In(stages - 1),
            "a": In(32),
            "b": In(32),
            "a_signed": In(1),
            "b_signed": In(1),
            #: Bits 63..32 of the product are the result, else 31..0; belongs to the last register.
            "high": In(1),
            "result": Out(32),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a = Signal(signed(33), reset_less=True)
        b = Signal(signed(33), reset_less=True)
        with m.If(self.enable):
            m.d.sync += [
                a.eq(Cat(self.a, self.a[31] & self.a_signed)),
                b.eq(Cat(self.b, self.b[31] & self.b_signed)),
            ]
        product = (a * b)[:64]
        for k in range(self._stages - 2):
            register = Signal(64, name=f"product{k}", reset_less=True)
            with m.If(self.advance[k]):
                m.d.sync += register.eq(product)
            product = register
        result = Signal(32, reset_less=True)
        with m.If(self.advance[self._stages - 2]):
            m.d.sync += result.eq(Mux(self.high, product[32:], product[:32]))
        m.d.comb += self.result.eq(result)
        return m


class MulUnit(wiring.Component):
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
        for i in range(self._config.threads):
            m.submodules[f"lane{i}"] = lane = MulLane(stages=stages)
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
