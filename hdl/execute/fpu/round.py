"""Rounding: turns an exact value into the encoded result; the only place that rounds."""

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from .formats import Control, Flags, Normalised, Rounding, Special

__all__ = ["Round", "rounds_away"]

#: An encoded exponent, without the 1 that the leading one adds: the number overflows if the leading one moves up.
_LAST_EXPONENT = 253


def rounds_away(rm: Value, *, sign: Value, odd: Value, guard: Value, sticky: Value) -> Value:
    """Whether the magnitude is rounded up: ``odd`` is its last bit, ``guard`` the next one, ``sticky`` the rest."""
    inexact = guard | sticky
    return (
        ((rm == Rounding.RNE) & guard & (sticky | odd))
        | ((rm == Rounding.RMM) & guard)
        | ((rm == Rounding.RUP) & inexact & ~sign)
        | ((rm == Rounding.RDN) & inexact & sign)
    )


class Round(Component):
    """Rounds to a number or an integer, packs it and detects overflow; or writes the result in ``special``.

    RISC-V detects tininess after rounding: a number is tiny unless it is at least 2**-126 when rounded to 24 bits as if
    the exponent had no lower bound. Combinational.
    """

    def __init__(self) -> None:
        super().__init__({
            "control": In(Control),  # rounding mode, and whether the result is an integer
            "exact": In(Normalised),  # the value; without meaning where `special` is a result
            "special": In(Special),  # NaN or infinity instead of a rounded number, and its flags
            "result": Out(32),  # the encoding, or the integer
            "flags": Out(Flags),  # the flags that the rounding or the special case raises
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        exact, control = self.exact, self.control
        rm, to_integer = control.rm, control.to_integer
        significand = exact.high[10:]
        # For a number, the guard bit, one more, and the rest. For an integer, the guard bit is bit 0.
        second, below = exact.high[8], Signal()
        odd, guard, sticky, away = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            below.eq(exact.high[:8].any() | exact.rest),
            odd.eq(Mux(to_integer, exact.high[1], exact.high[10])),
            guard.eq(Mux(to_integer, exact.high[0], exact.high[9])),
            sticky.eq(Mux(to_integer, exact.rest, second | below)),
            away.eq(rounds_away(rm, sign=exact.sign, odd=odd, guard=guard, sticky=sticky)),
        ]
        # A carry out of the fraction goes into the exponent, which is right from subnormal to normal and beyond; so
        # does the leading one. A negative integer in one's complement, rounded away, is one less: nothing is added.
        negate = to_integer & exact.sign
        exponent = Signal(9)
        number, integer = Cat(significand, C(0, 9)), exact.high[1:] ^ negate.replicate(33)
        total = Signal(33)
        m.d.comb += [
            exponent.eq(exact.exponent - exact.distance),
            total.eq((Cat(away ^ negate, Mux(to_integer, Cat(integer[:32], negate), number))
                      + Cat(away ^ negate, C(0, 23), exponent))[1:]),
        ]
        # Whether the rounded number or integer fits is known without the sum, from the bits that let a carry pass.
        carries, invalid, shared = Signal(), Signal(), Signal()
        # The highest exponent, or the one below and a carry. Only a subnormal number has no leading one.
        beyond = significand[23] & (exponent[8] | exponent[1:8].all() | (carries & (exponent[:8] == _LAST_EXPONENT)))
        m.d.comb += [
            shared.eq(exact.high[10:32].all()),
            carries.eq(shared & significand[22] & away),
            invalid.eq(to_integer & (self.special.invalid | self._outside(away, shared & exact.high[1:10].all()))),
        ]
        self._write(m, total, overflow=beyond, invalid=invalid, inexact=guard | sticky)
        # Among numbers below 2**-126, only the last one reaches it when rounded one bit further down: all ones.
        reaches_normal = carries & guard & rounds_away(
            rm, sign=exact.sign, odd=Const(1), guard=second, sticky=below)
        with m.If(~to_integer & ~self.special.nan & ~self.special.infinite):
            m.d.comb += self.flags.underflow.eq((guard | sticky) & ~significand[23] & ~reaches_normal)
        return m

    def _outside(self, away: Value, all_ones: Value) -> Value:
        """Whether an integer of at most 32 bits, rounded ``away`` or not, and with its sign, is not in the range.

        ``all_ones``: its lower 31 bits are ones.
        """
        none, top = ~self.exact.high[1:32].any(), self.exact.high[32]
        negative = self.exact.sign
        positive_signed = top | (all_ones & away)
        negative_signed = top & (~none | away)
        positive_unsigned = top & all_ones & away
        negative_unsigned = top | ~none | away
        return Mux(self.control.is_unsigned, Mux(negative, negative_unsigned, positive_unsigned),
                   Mux(negative, negative_signed, positive_signed))

    def _write(self, m: Module, total: Signal, *, overflow: Value, invalid: Value, inexact: Value) -> None:
        """Result and all flags except underflow; ``total`` is the rounded value. It comes last: one gate follows it."""
        exact, control, special = self.exact, self.control, self.special
        to_integer, negative = control.to_integer, exact.sign
        number, overflows, to_infinity = Signal(), Signal(), Signal()
        m.d.comb += [
            number.eq(~special.nan & ~special.infinite & ~to_integer),
            overflows.eq(number & overflow),
            # As the directed modes round every inexact number.
            to_infinity.eq((control.rm == Rounding.RNE) | (control.rm == Rounding.RMM)
                           | Mux(negative, control.rm == Rounding.RDN, control.rm == Rounding.RUP)),
            self.flags.inexact.eq(Mux(to_integer, inexact & ~invalid, number & (inexact | overflows))),
            self.flags.overflow.eq(overflows),
            self.flags.divide_by_zero.eq(special.divide_by_zero),
            self.flags.invalid.eq(Mux(to_integer, invalid, special.invalid)),
        ]
        # The value that replaces the rounded one: the bits of infinity, of the largest number, of a NaN or an integer.
        keep, sign = Signal(), Signal()
        infinite, largest, most = Signal(), Signal(), Signal()
        m.d.comb += [
            infinite.eq(special.nan | special.infinite | (overflows & to_infinity)),
            most.eq(invalid & ~negative),
            largest.eq((overflows & ~to_infinity) | most),
            keep.eq(~infinite & ~largest & ~invalid & (to_integer | ~exact.zero)),
            sign.eq(~special.nan & Mux(special.infinite, special.sign, negative ^ (invalid & control.is_unsigned))),
        ]
        bits = Cat(largest.replicate(22), largest | special.nan, infinite | most, (infinite | largest).replicate(7))
        m.d.comb += self.result.eq(Cat(
            bits | (total[:31] & keep.replicate(31)), Mux(to_integer & ~invalid, total[31], sign)))
