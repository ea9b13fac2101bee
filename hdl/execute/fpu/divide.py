"""Division and square root, before rounding."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from .formats import Special
from .recurrence import ROOT_BITS, STEPS, Recurrence
from .shift import Normalise
from .unpack import Unpack

__all__ = ["Divide", "Quotient"]


class Quotient(data.Struct):
    """(-1)**sign * (root + less than 1 if ``rest``) / 2**25 * 2**(exponent - 126), unless ``special`` gives the result.

    ``exponent`` is never negative: a smaller number has leading zeros instead.
    """

    root: ROOT_BITS
    rest: 1
    exponent: 9
    sign: 1
    special: Special


class Divide(Component):
    """``a / b``, or with ``square_root`` the root of ``a``, exact and aligned for rounding.

    An operation is ``start``, then 13 cycles with ``step``, then ``finish``, each later than the one before. With
    ``holds_operands``, ``load`` comes first and takes them, and ``start`` follows later. With ``holds_exponent``,
    ``prepare`` comes between ``start`` and the first ``step``. Registers keep their value in all other cycles and have
    no reset, so nothing toggles between operations.
    """

    def __init__(self, *, holds_operands: bool, holds_exponent: bool) -> None:
        self._holds_operands, self._holds_exponent = holds_operands, holds_exponent
        super().__init__({
            "load": In(1),  # take `a`, `b` and `square_root`
            "start": In(1),  # begin; in the cycle of `load` unless the operands are registered
            "prepare": In(1),  # take the exponent of the result, if it is registered
            "step": In(1),  # two bits of the result
            "passed": In(range(2 * STEPS)),  # with `step`: the number of bits before these two
            "finish": In(1),  # output `quotient`
            "square_root": In(1),  # compute the root of `a`; in the cycle of `load`
            "a": In(32),  # dividend or radicand, in the cycle of `load`
            "b": In(32),  # divisor, in the cycle of `load`
            "quotient": Out(Quotient),  # the result, combinational; 0 without `finish`
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.recurrence = recurrence = Recurrence(holds_trial=self._holds_exponent)
        a_bits, b_bits, is_root = self._inputs(m)
        a, a_significand, a_zeros = _operand(m, "a", a_bits)
        b, b_significand, b_zeros = _operand(m, "b", b_bits)
        square_root = Signal(reset_less=True)
        sign = Signal(reset_less=True)
        special = Signal(Special, reset_less=True)
        # The exponent of a, and 127 minus that of b: the encoded exponent of the quotient is one more than their sum.
        # (The complement of seven bits is 127 minus their value.)
        first, second = Signal(signed(10), reset_less=True), Signal(signed(10), reset_less=True)
        radix = Cat(~b.exponent[:7], b.exponent[7].replicate(2)).as_signed()
        with m.If(self.start):
            m.d.sync += [
                square_root.eq(is_root),
                sign.eq(a.sign ^ (b.sign & ~is_root)),
                special.eq(_special(m, a, b, is_root)),
                # a.exponent - a_zeros - 1
                first.eq(Cat(a.exponent, C(0, 2)) + Cat(~a_zeros, C(-1, 5))),
                second.eq(radix + b_zeros),
            ]
            with m.If(is_root):
                m.d.sync += second.eq(126)
        reached = self._exponent(m, square_root, first + second)
        m.d.comb += [
            recurrence.load.eq(self.start),
            recurrence.step.eq(self.step),
            recurrence.active.eq(~reached[9] | reached.all()),
            recurrence.first.eq(~reached[9]),
            recurrence.square_root.eq(square_root),
            recurrence.zero.eq(~is_root & b.infinite),
            recurrence.a.eq(a_significand),
            recurrence.b.eq(b_significand),
        ]
        # An even encoded exponent stands for an odd power of two.
        odd = is_root & ~(a.exponent[0] ^ a_zeros[0])
        if self._holds_exponent:
            was_odd = Signal(reset_less=True)
            with m.If(self.start):
                m.d.sync += was_odd.eq(odd)
            m.d.comb += [recurrence.prepare.eq(self.prepare), recurrence.double.eq(was_odd)]
        else:
            m.d.comb += recurrence.odd.eq(odd)
        with m.If(self.finish):
            m.d.comb += [
                self.quotient.root.eq(recurrence.root), self.quotient.rest.eq(recurrence.remainder),
                self.quotient.exponent.eq(self._place), self.quotient.sign.eq(sign), self.quotient.special.eq(special),
            ]
        return m

    def _exponent(self, m: Module, square_root: Value, total: Value) -> Value:
        """The encoded exponent of the result, plus the bits passed: negative up to the first bit of the result.

        It is -1 in a step of whose bits only the second one belongs to the result.
        """
        sum_, exponent = Signal(signed(10)), Signal(signed(10))
        m.d.comb += [sum_.eq(total), exponent.eq(Mux(square_root, sum_ >> 1, sum_))]
        # For the normalisation; the same in every step.
        self._place = Signal(9, reset_less=True)
        with m.If(self.prepare if self._holds_exponent else self.step):
            m.d.sync += self._place.eq(exponent[:9] & (~exponent[9]).replicate(9))
        reached = Signal(signed(10), reset_less=True)
        if self._holds_exponent:
            with m.If(self.prepare):
                m.d.sync += reached.eq(exponent)
            with m.Elif(self.step):
                m.d.sync += reached.eq(reached + 2)
        else:
            m.d.comb += reached.eq(exponent + Mux(self.step, self.passed, 0))
        return reached

    def _inputs(self, m: Module) -> list[Value]:
        """Operands and operation: registered, or else 0 except in the cycle of ``load``."""
        ports = (self.a, self.b, self.square_root)
        if not self._holds_operands:
            return [Mux(self.load, port, 0) for port in ports]
        registers: list[Value] = []
        with m.If(self.load):
            for port in ports:
                register = Signal.like(port, name=f"operand_{port.name}", reset_less=True)
                m.d.sync += register.eq(port)
                registers.append(register)
        return registers


def _operand(m: Module, name: str, bits: Value) -> tuple[data.View, Signal, Signal]:
    """The operand, its significand shifted so that the leading one is at the left end, and the shift distance."""
    m.submodules[f"unpack_{name}"] = unpack = Unpack()
    m.submodules[f"normalise_{name}"] = normalise = Normalise(width=24)
    m.d.comb += [
        unpack.bits.eq(bits),
        normalise.value.eq(unpack.value.significand),
        normalise.free.eq(1),
    ]
    return unpack.value, normalise.normalised, normalise.distance


def _special(m: Module, a: data.View, b: data.View, square_root: Value) -> data.View:
    """The result and exceptions if the operands alone decide them, combinational."""
    special = Signal(Special, name="next_special")
    m.d.comb += special.sign.eq(a.sign ^ (b.sign & ~square_root))
    with m.If(square_root):
        negative = a.sign & ~a.zero & ~a.nan
        m.d.comb += [
            special.nan.eq(a.nan | negative),
            special.infinite.eq(a.infinite),
            special.invalid.eq(a.signalling | negative),
        ]
    with m.Else():
        undefined = (a.zero & b.zero) | (a.infinite & b.infinite)
        m.d.comb += [
            special.nan.eq(a.nan | b.nan | undefined),
            special.infinite.eq(a.infinite | b.zero),
            special.invalid.eq(a.signalling | b.signalling | undefined),
            special.divide_by_zero.eq(b.zero & ~a.zero & ~a.infinite & ~a.nan),
        ]
    return special
