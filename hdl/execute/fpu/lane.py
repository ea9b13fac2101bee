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
from .product import Multiply, Product, SelectTerms
from .recurrence import STEPS
from .round import Round
from .sum import Add, Addend, Align, NormaliseSum
from .unpack import Unpack

__all__ = ["DIVIDE_CYCLES", "FloatLane", "back_registers", "conversion_delay", "front_registers"]

#: The steps of a multiply-add in their order, and the shortest latency with a register after each.
_REGISTER_FROM = {
    "operands": 8,
    "select": 7,
    "unpack": 6,
    "multiply": 4,
    "align": 5,
    "add": 4,
    "normalise": 4,
    "round": 4,
}
#: Cycles of a division: operands normalised, the steps, result normalised, rounded. With one more the operands wait in
#: a register before.
DIVIDE_CYCLES = STEPS + 3
_FRONT = ("operands", "select", "unpack", "multiply")


def front_registers(latency_fma: int) -> int:
    """Registers of a multiply-add up to the one after the multiplication."""
    return sum(latency_fma >= _REGISTER_FROM[step] for step in _FRONT)


def back_registers(latency_fma: int) -> int:
    """Registers after that one: 3 or 4. Conversions pass them too."""
    return latency_fma - front_registers(latency_fma)


def conversion_delay(latency_fma: int, latency_fcvt: int) -> int:
    """Registers of a conversion before the one after the multiplication."""
    return latency_fcvt - 1 - back_registers(latency_fma)


class FloatLane(Component):
    """One lane. An operation writes its result once, in its last cycle; the caller arranges which cycle that is.

    A multiply-add passes all registers of ``latency_fma``. A conversion enters at the register after the
    multiplication, and a quotient or root at the normalisation, two cycles before its result. Each register keeps its
    value in a cycle in which its enable is 0, so nothing toggles between operations. None has a reset.
    """

    def __init__(self, *, latency_fma: int, latency_fcvt: int, latency_fdiv: int):
        self._registered = latency_fdiv > DIVIDE_CYCLES
        self._front, self._back = front_registers(latency_fma), back_registers(latency_fma)
        self._delay = conversion_delay(latency_fma, latency_fcvt)
        self._latency_fma = latency_fma
        super().__init__({
            #: Registers up to the one after the multiplication; bit 0: take a multiply-add.
            "front": In(self._front),
            #: The same for a conversion, whose last register is the one after the multiplication.
            "convert": In(self._delay + 1),
            "back": In(self._back),  # later registers that take their value; the last one is the result
            "op": In(FmaOp),  # which multiply-add, in the cycle of `front` bit 0, as `rm` and the operands
            "conversion": In(FcvtOp),  # which conversion, in the cycle of `convert` bit 0, as `rm` and `a`
            "rm": In(Rounding),  # rounding mode
            "a": In(32),  # rs1
            "b": In(32),  # rs2
            "c": In(32),  # rs3; only the fused operations have one
            "divide": In(1),  # take a division or square root, with `rm`, `a` and `b`
            "square_root": In(1),  # with `divide`
            "start": In(1),  # of the division, as in :class:`hdl.execute.fpu.divide.Divide`
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
        m.submodules.round = final = Round()
        control, special, product, addend = self._terms(m)
        later = _Registers(m, self.back, self._latency_fma)

        m.d.comb += [
            align.rm.eq(control.rm), align.fixed.eq(control.to_integer),
            align.product.eq(product), align.addend.eq(addend),
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
        control, special, exact = later.after("normalise", control=control, special=special, exact=normalise.exact)

        m.d.comb += [final.control.eq(control), final.special.eq(special), final.exact.eq(exact)]
        result, flags = later.after("round", result=final.result, flags=final.flags)
        m.d.comb += [self.result.eq(result), self.flags.eq(flags)]
        return m

    def _terms(self, m: Module) -> list[data.View]:
        """Control, special result, product and addend, of a multiply-add or of a conversion, from registers."""
        m.submodules.select = select = SelectTerms()
        m.submodules.multiply = multiply = Multiply()
        conversion = self._conversion(m)
        early = _Registers(m, self.front, self._latency_fma)
        op, rm, a, b, c = early.after("operands", op=self.op, rm=self.rm, a=self.a, b=self.b, c=self.c)
        # After a register the operands stay stable by themselves.
        enable = Const(1) if early.passed else self.front[0]
        m.d.comb += [
            select.enable.eq(enable), select.op.eq(op), select.a.eq(a), select.b.eq(b), select.c.eq(c)]
        rm, *words = early.after("select", rm=rm, x=select.x, y=select.y, z=select.z)
        x, y, z = (_unpack(m, word, name) for name, word in zip("xyz", words, strict=True))
        rm, x, y, z = early.after("unpack", rm=rm, x=x, y=y, z=z)
        m.d.comb += [multiply.x.eq(x), multiply.y.eq(y), multiply.z.eq(z)]

        enter, take = self.convert[-1], self.front[-1]
        control, special = Signal(Control, reset_less=True), Signal(Special, reset_less=True)
        product, addend = Signal(Product, reset_less=True), Signal(Addend, reset_less=True)
        term = Signal(Addend)
        # Inactive conversions and addends are 0, so that they can be ORed.
        m.d.comb += [
            term.significand.eq(Cat(Const(0, 8), z.significand)), term.exponent.eq(z.exponent), term.sign.eq(z.sign)]
        with m.If(enter | take):
            m.d.sync += [
                control.eq(conversion.control.as_value() | Mux(take, rm, 0)),
                addend.eq(conversion.addend.as_value() | Mux(take, term.as_value(), 0)),
            ]
        # Constants except for two bits: registers with a reset implement them.
        with m.If(enter):
            m.d.sync += [special.eq(0), product.eq(conversion.product)]
        with m.Elif(take):
            m.d.sync += [special.eq(multiply.special), product.eq(multiply.product)]
        return [control, special, product, addend]

    def _conversion(self, m: Module) -> Convert:
        """The terms of a conversion; 0 while none enters."""
        m.submodules.convert_step = convert = Convert()
        op, rm, a = self.conversion, self.rm, self.a
        for k in range(self._delay):
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
        m.submodules.divide_step = divide = Divide(registered=self._registered)
        rm = Signal(Rounding, reset_less=True)
        with m.If(self.divide):
            m.d.sync += rm.eq(self.rm)
        m.d.comb += [
            divide.load.eq(self.divide), divide.start.eq(self.start), divide.square_root.eq(self.square_root),
            divide.a.eq(self.a), divide.b.eq(self.b),
            divide.step.eq(self.step), divide.passed.eq(self.passed), divide.finish.eq(self.quotient),
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

    def __init__(self, m: Module, enables: Value, latency: int):
        self._m, self._enables, self._latency = m, enables, latency
        #: How many there are so far.
        self.passed = 0

    def after(self, step: str, clear: Value | None = None, **values: Any) -> list[Any]:
        """Pass ``values``, the outputs of ``step``, through a register each if this latency has one there.

        They become 0 in a cycle with ``clear``.
        """
        if self._latency < _REGISTER_FROM[step]:
            return list(values.values())
        enable = self._enables[self.passed]
        self.passed += 1
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
