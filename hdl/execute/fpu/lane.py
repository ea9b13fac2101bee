"""One lane of the arithmetic that rounds: multiply-add, conversions, division and square root."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...isa.ops import FcvtOp, FmaOp
from ...lib.component import Component
from .convert import Convert
from .divide import Divide
from .formats import Control, Flags, Rounding, Special
from .product import Alignment, Compare, Multiply, Product, SelectTerms, SumProducts
from .recurrence import STEPS
from .round import Round
from .stages import Stages
from .sum import Add, Addend, Align, FinishSum, NormaliseSum
from .unpack import Unpack

__all__ = ["FloatLane"]


class FloatLane(Component):
    """One lane. An operation writes its result once, in its last cycle; the caller arranges which cycle that is.

    A multiply-add passes all registers of ``latency_fma``. A conversion enters at the register after the product, and a
    quotient or root at the normalisation, two or three cycles before its result (:class:`.stages.Stages`). Each
    register keeps its value in a cycle in which its enable is 0, so nothing toggles between operations. None has a
    reset.
    """

    def __init__(self, *, latency_fma: int, latency_fcvt: int, latency_fdiv: int):
        stages = Stages(latency_fma=latency_fma, latency_fcvt=latency_fcvt, latency_fdiv=latency_fdiv)
        self._stages = stages
        super().__init__({
            #: Registers up to the one after the product; bit 0: take a multiply-add.
            "front": In(stages.front),
            #: The same for a conversion, whose last register is the one after the product.
            "convert": In(stages.conversion_delay + 1),
            "back": In(stages.back),  # later registers that take their value; the last one is the result
            "op": In(FmaOp),  # which multiply-add, in the cycle of `front` bit 0, as `rm` and the operands
            "conversion": In(FcvtOp),  # which conversion, in the cycle of `convert` bit 0, as `rm` and `a`
            "rm": In(Rounding),  # rounding mode
            "a": In(32),  # rs1
            "b": In(32),  # rs2
            "c": In(32),  # rs3; only the fused operations have one
            "divide": In(1),  # take a division or square root, with `rm`, `a` and `b`
            "square_root": In(1),  # with `divide`
            "start": In(1),  # of the division, as in :class:`hdl.execute.fpu.divide.Divide`
            "prepare": In(1),  # the same
            "step": In(1),  # the same
            "passed": In(range(2 * STEPS)),  # with ``step``
            "clear": In(1),  # the register after the addition becomes 0; in the cycle before that of `quotient`
            "quotient": In(1),  # the division is normalised; with the enable of the register after it
            "result": Out(32),  # a register
            "flags": Out(Flags),  # those of that result, as long as it stays
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.align = align = Align()
        m.submodules.add = add = Add()
        m.submodules.normalise = normalise = NormaliseSum()
        m.submodules.finish = finish = FinishSum()
        m.submodules.round = final = Round()
        control, special, product, addend, alignment = self._terms(m)
        later = _Registers(m, self.back, self._stages)

        m.d.comb += [
            align.rm.eq(control.rm), align.fixed.eq(control.to_integer),
            align.product.eq(product), align.addend.eq(addend), align.alignment.eq(alignment),
        ]
        aligned = Signal(Special)
        m.d.comb += [
            aligned.eq(special),
            aligned.invalid.eq(special.invalid | (control.to_integer & align.beyond)),
        ]
        control, special, larger, smaller, frame = later.after(
            "align", control=control, special=aligned, larger=align.larger, smaller=align.smaller, frame=align.frame)

        m.d.comb += [add.larger.eq(larger), add.smaller.eq(smaller), add.frame.eq(frame)]
        control, special, total = later.after(
            "add", clear=self.clear, control=control, special=special, sum=add.sum)

        control, special = self._join(m, normalise, total, control, special)
        control, special, magnitude, frame = later.after(
            "blocks", control=control, special=special, magnitude=normalise.magnitude, frame=normalise.frame)
        m.d.comb += [finish.magnitude.eq(magnitude), finish.frame.eq(frame)]
        control, special, exact = later.after("normalise", control=control, special=special, exact=finish.exact)

        m.d.comb += [final.control.eq(control), final.special.eq(special), final.exact.eq(exact)]
        result, flags = later.after("round", result=final.result, flags=final.flags)
        m.d.comb += [self.result.eq(result), self.flags.eq(flags)]
        return m

    def _terms(self, m: Module) -> list[data.View]:
        """Control, special result, product, addend and their alignment, of either operation, from registers."""
        m.submodules.select = select = SelectTerms()
        m.submodules.multiply = multiply = Multiply()
        m.submodules.sum_products = total = SumProducts()
        conversion = self._conversion(m)
        early = _Registers(m, self.front, self._stages)
        m.d.comb += [
            select.enable.eq(self.front[0]), select.op.eq(self.op),
            select.a.eq(self.a), select.b.eq(self.b), select.c.eq(self.c),
        ]
        rm, *words = early.after("select", rm=self.rm, x=select.x, y=select.y, z=select.z)
        x, y, z = (_unpack(m, word, name) for name, word in zip("xyz", words, strict=True))
        rm, x, y, z = early.after("unpack", rm=rm, x=x, y=y, z=z)
        m.d.comb += [multiply.x.eq(x), multiply.y.eq(y), multiply.z.eq(z)]
        term = Signal(Addend)
        # Inactive conversions and addends are 0, so that they can be ORed.
        m.d.comb += [
            term.significand.eq(Cat(Const(0, 8), z.significand)), term.exponent.eq(z.exponent), term.sign.eq(z.sign)]
        rm, term, outer, left, right, scale, result = early.after(
            "multiply", rm=rm, term=term, outer=multiply.outer, left=multiply.left, right=multiply.right,
            scale=multiply.scale, special=multiply.special)
        m.d.comb += [
            total.outer.eq(outer), total.left.eq(left), total.right.eq(right), total.scale.eq(scale),
        ]

        enter, take = self.convert[-1], self.front[-1]
        control, special = Signal(Control, reset_less=True), Signal(Special, reset_less=True)
        product, addend = Signal(Product, reset_less=True), Signal(Addend, reset_less=True)
        alignment = Signal(Alignment, reset_less=True)
        m.submodules.compare = compare = Compare()
        sent = conversion.product
        m.d.comb += [
            compare.exponent.eq(Mux(enter, sent.exponent, scale.exponent)),
            compare.zero.eq(Mux(enter, sent.zero, scale.zero)),
            compare.addend_exponent.eq(conversion.addend.exponent | Mux(take, term.exponent, 0)),
        ]
        with m.If(enter | take):
            m.d.sync += [
                control.eq(conversion.control.as_value() | Mux(take, rm, 0)),
                addend.eq(conversion.addend.as_value() | Mux(take, term.as_value(), 0)),
                alignment.eq(compare.alignment),
            ]
        # Constants except for two bits: registers with a reset implement them.
        with m.If(enter):
            m.d.sync += [special.eq(0), product.eq(sent)]
        with m.Elif(take):
            m.d.sync += [special.eq(result), product.eq(total.product)]
        return [control, special, product, addend, alignment]

    def _conversion(self, m: Module) -> Convert:
        """The terms of a conversion; 0 while none enters."""
        m.submodules.convert_step = convert = Convert()
        op, rm, a = self.conversion, self.rm, self.a
        for k in range(self._stages.conversion_delay):
            registers = [Signal(value.shape(), name=f"converted{k}_{name}", reset_less=True)
                         for name, value in (("op", op), ("rm", rm), ("a", a))]
            with m.If(self.convert[k]):
                for register, value in zip(registers, (op, rm, a), strict=True):
                    m.d.sync += register.eq(value)
            op, rm, a = registers
        m.d.comb += [convert.enable.eq(self.convert[-1]), convert.op.eq(op), convert.rm.eq(rm), convert.a.eq(a)]
        return convert

    def _join(self, m: Module, normalise: NormaliseSum, total: data.View, control: data.View,
              special: data.View) -> list[data.View]:
        """Replace the sum, which is 0 then, by a quotient with its rounding mode and special result."""
        m.submodules.divide_step = divide = Divide(
            holds_operands=self._stages.holds_operands, holds_exponent=self._stages.holds_exponent)
        rm = Signal(Rounding, reset_less=True)
        with m.If(self.divide):
            m.d.sync += rm.eq(self.rm)
        m.d.comb += [
            divide.load.eq(self.divide), divide.start.eq(self.start), divide.square_root.eq(self.square_root),
            divide.a.eq(self.a), divide.b.eq(self.b),
            divide.prepare.eq(self.prepare), divide.step.eq(self.step), divide.passed.eq(self.passed),
            divide.finish.eq(self.quotient),
        ]
        quotient = divide.quotient
        joined, joined_special = Signal(Control), Signal(Special)
        m.d.comb += [
            normalise.sum.eq(total),
            normalise.sum.exponent.eq(total.exponent | quotient.exponent),
            normalise.sum.sign.eq(total.sign | quotient.sign),
            normalise.sum.zero_sign.eq(total.zero_sign | quotient.sign),
            normalise.root.eq(quotient.root),
            normalise.rest.eq(quotient.rest),
            joined.eq(control.as_value() | Mux(self.quotient, rm, 0)),
            joined_special.eq(special.as_value() | quotient.special.as_value()),
        ]
        return [joined, joined_special]


class _Registers:
    """Inserts registers between the steps of a lane. ``enables`` has one bit per register, the first one's lowest."""

    def __init__(self, m: Module, enables: Value, stages: Stages):
        self._m, self._enables, self._stages = m, enables, stages

    def after(self, step: str, clear: Value | None = None, **values: Any) -> list[Any]:
        """Pass ``values``, the outputs of ``step``, through a register each if there is one after it.

        They become 0 in a cycle with ``clear``.
        """
        place = self._stages.enables(step)
        if place is None:
            return list(values.values())
        enable = self._enables[place]
        registers = [Signal(value.shape(), name=f"{step}_{name}", reset_less=True) for name, value in values.items()]
        with self._m.If(enable):
            for register, value in zip(registers, values.values(), strict=True):
                self._m.d.sync += register.eq(value)
        if clear is not None:
            with self._m.If(clear):
                self._m.d.sync += [register.eq(0) for register in registers]
        return registers


def _unpack(m: Module, bits: Value, name: str) -> data.View:
    m.submodules[f"unpack_{name}"] = unpack = Unpack()
    m.d.comb += unpack.bits.eq(bits)
    return unpack.value
