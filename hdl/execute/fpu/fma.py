"""Additions and multiplications of RV32F: one fused multiply-add."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.enum import EnumView
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...isa.ops import FmaOp
from ...lib.component import Component
from ...lib.shared import share
from ..lanes import lane_words
from .formats import Flags, Rounding
from .ports import fpu_ports
from .product import Multiply, SelectTerms
from .round import Denormalise, Round
from .sum import Add, Align, NormaliseSum
from .unpack import Unpack

__all__ = ["FmaLane", "FmaUnit"]

#: The steps in their order, and the shortest latency with a register after each. Four balance best as multiply, add,
#: normalise and round with what stands before them; each further one splits the longest of what is left.
_REGISTER_FROM = {
    "select": 5,
    "unpack": 6,
    "multiply": 4,
    "align": 7,
    "add": 4,
    "normalise": 4,
    "denormalise": 8,
    "round": 4,
}


class _Pipeline:
    """Puts registers between the steps of a lane. ``enables`` has one bit a register, the first one's lowest."""

    def __init__(self, m: Module, enables: Value):
        self._m, self._enables, self._passed = m, enables, 0

    def after(self, step: str, **values: Value | data.View | EnumView[Rounding]) -> list:
        """``values``, which leave ``step``: through a register each, if this latency has one here."""
        if len(self._enables) < _REGISTER_FROM[step]:
            return list(values.values())
        enable = self._enables[self._passed]
        self._passed += 1
        registers = [Signal(value.shape(), name=f"{step}_{name}", reset_less=True) for name, value in values.items()]
        with self._m.If(enable):
            for register, value in zip(registers, values.values(), strict=True):
                self._m.d.sync += register.eq(value)
        return registers


class FmaLane(Component):
    """One lane of ``stages`` registers, 4 to 8; the last is the result. None has a reset.

    Each register keeps its value in a cycle in which its enable is 0, and nothing before the first one toggles. The
    result of what is enabled in cycle c, and advanced by bit k in c+1+k, is there in c + ``stages``; there may be one
    in every cycle.
    """

    def __init__(self, *, stages: int):
        self._stages = stages
        super().__init__({
            "enable": In(1),  # take an operation; while 0, the inputs count as 0
            "advance": In(stages - 1),  # bit k: register k after the first takes its value in this cycle
            "op": In(FmaOp),  # which operation, in the cycle of `enable`, as `rm` and the operands
            "rm": In(Rounding),  # rounding mode
            "a": In(32),  # rs1
            "b": In(32),  # rs2
            "c": In(32),  # rs3; only the fused operations have one
            "result": Out(32),  # from the cycle after the highest bit of `advance`, until the next; from a register
            "flags": Out(Flags),  # those of that result, as long as it stays
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        after = _Pipeline(m, Cat(self.enable, self.advance)).after
        m.submodules.select = select = SelectTerms()
        m.submodules.multiply = multiply = Multiply()
        m.submodules.align = align = Align()
        m.submodules.add = add = Add()
        m.submodules.normalise = normalise = NormaliseSum()
        m.submodules.denormalise = denormalise = Denormalise()
        m.submodules.round = final = Round()

        rm = Signal(Rounding)
        for source, target in ((self.op, select.op), (self.rm, rm), (self.a, select.a), (self.b, select.b),
                               (self.c, select.c)):
            m.d.comb += target.eq(Mux(self.enable, source, 0))
        rm, *words = after("select", rm=rm, x=select.x, y=select.y, z=select.z)
        rm, x, y, z = after("unpack", rm=rm, **{
            name: _unpack(m, word, name) for name, word in zip("xyz", words, strict=True)})

        m.d.comb += [multiply.x.eq(x), multiply.y.eq(y), multiply.z.eq(z)]
        rm, special, product, addend = after(
            "multiply", rm=rm, special=multiply.special, product=multiply.product, addend=z)

        m.d.comb += [align.rm.eq(rm), align.product.eq(product), align.addend.eq(addend)]
        rm, special, larger, smaller, frame = after(
            "align", rm=rm, special=special, larger=align.larger, smaller=align.smaller, frame=align.frame)

        m.d.comb += [add.larger.eq(larger), add.smaller.eq(smaller), add.frame.eq(frame)]
        rm, special, total = after("add", rm=rm, special=special, sum=add.sum)

        m.d.comb += normalise.sum.eq(total)
        rm, special, exact = after("normalise", rm=rm, special=special, exact=normalise.exact)

        m.d.comb += [denormalise.rm.eq(rm), denormalise.exact.eq(exact)]
        rm, special, aligned = after("denormalise", rm=rm, special=special, aligned=denormalise.aligned)

        m.d.comb += [final.rm.eq(rm), final.special.eq(special), final.aligned.eq(aligned)]
        result, flags = after("round", result=final.result, flags=final.flags)
        m.d.comb += [self.result.eq(result), self.flags.eq(flags)]
        return m


def _unpack(m: Module, bits: Value, name: str) -> data.View:
    m.submodules[f"unpack_{name}"] = unpack = Unpack()
    m.d.comb += unpack.bits.eq(bits)
    return unpack.value


class FmaUnit(Component):
    """:class:`hdl.isa.ops.FmaOp` over the lanes; latency ``config.latency_fma``, a new operation in every cycle.

    Ports as in :func:`hdl.execute.fpu.ports.fpu_ports`, and a third operand. Reset empties the pipeline.
    """

    def __init__(self, config: SmConfig):
        self._config = config
        super().__init__({
            **fpu_ports(config),
            "c": In(lane_words(config)),  # third operands, with `valid`
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stages = self._config.latency_fma
        # Element k belongs to the operation that has passed k + 1 registers; its mask is 0 if there is none.
        masks = [Signal(self._config.threads, name=f"mask{k}") for k in range(stages)]
        for before, after in pairwise([Mux(self.valid, self.mask, 0), *masks]):
            m.d.sync += after.eq(before)
        for i in range(self._config.threads):
            lane = share(m, platform, f"lane{i}", FmaLane, stages=stages)
            m.d.comb += [
                lane.enable.eq(self.valid & self.mask[i]),
                lane.advance.eq(Cat(mask[i] for mask in masks[:-1])),
                lane.op.eq(self.op),
                lane.rm.eq(self.rm),
                lane.a.eq(self.a[i]),
                lane.b.eq(self.b[i]),
                lane.c.eq(self.c[i]),
                self.result[i].eq(lane.result),
                # The lane's register keeps the flags of its last operation.
                self.flags[i].eq(Mux(masks[-1][i], lane.flags, 0)),
            ]
        return m
