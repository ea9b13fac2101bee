"""Rounding: turns an exact value into the encoded result; the only place that rounds."""

from amaranth.hdl import C, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from .formats import CANONICAL_NAN, Control, Flags, Normalised, Rounding, Special

__all__ = ["Round", "rounds_away"]

_LARGEST = 0x7F7F_FFFF
_INFINITY = 0x7F80_0000


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
        self._write(m, total, inexact=guard | sticky)
        # Among numbers below 2**-126, only the last one reaches it when rounded one bit further down: all ones.
        reaches_normal = total[23] & guard & rounds_away(
            rm, sign=exact.sign, odd=Const(1), guard=second, sticky=below)
        with m.If(~to_integer & ~self.special.nan & ~self.special.infinite):
            m.d.comb += self.flags.underflow.eq((guard | sticky) & ~significand[23] & ~reaches_normal)
        return m

    def _write(self, m: Module, total: Signal, *, inexact: Value) -> None:
        """Result and all flags except underflow; ``total`` is the rounded value."""
        exact, control, special = self.exact, self.control, self.special
        to_integer, is_unsigned = control.to_integer, control.is_unsigned
        number, overflow, to_infinity, invalid = Signal(), Signal(), Signal(), Signal()
        negative = exact.sign
        m.d.comb += [
            number.eq(~special.nan & ~special.infinite & ~to_integer),
            overflow.eq(number & (total[31] | total[32] | total[23:31].all()) & ~exact.zero),
            # As the directed modes round every inexact number.
            to_infinity.eq((control.rm == Rounding.RNE) | (control.rm == Rounding.RMM)
                           | Mux(negative, control.rm == Rounding.RDN, control.rm == Rounding.RUP)),
            # Bit 32 is the sign; it is 0 for a negative integer that is rounded to 0.
            invalid.eq(to_integer & (special.invalid | Mux(
                is_unsigned, total[32], Mux(negative, total[32] & ~total[31], total[32] | total[31])))),
            self.flags.inexact.eq(Mux(to_integer, inexact & ~invalid, number & (inexact | overflow))),
            self.flags.overflow.eq(overflow),
            self.flags.divide_by_zero.eq(special.divide_by_zero),
            self.flags.invalid.eq(Mux(to_integer, invalid, special.invalid)),
        ]
        # The value that replaces the rounded one: all or none of the lower 31 bits are set.
        infinite = special.infinite | (overflow & to_infinity)
        with m.If(special.nan):
            m.d.comb += self.result.eq(CANONICAL_NAN)
        with m.Elif(infinite):
            m.d.comb += self.result.eq(Cat(Const(_INFINITY, 31), Mux(special.infinite, special.sign, negative)))
        with m.Elif(overflow):
            m.d.comb += self.result.eq(Cat(Const(_LARGEST, 31), negative))
        with m.Elif(invalid):
            m.d.comb += self.result.eq(Cat((~negative).replicate(31), negative ^ is_unsigned))
        with m.Elif(to_integer):
            m.d.comb += self.result.eq(total)
        with m.Else():
            m.d.comb += self.result.eq(Cat(total[:31] & (~exact.zero).replicate(31), negative))
