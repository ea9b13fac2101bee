"""From an exact number to the encoding of the rounded result, in two steps between which a register fits."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from ...lib.component import Component
from .formats import BIAS, CANONICAL_NAN, EXPONENT_BITS, MIN_EXPONENT, Aligned, Flags, Rounding, Special, Unrounded
from .shift import shift_right_sticky

__all__ = ["Denormalise", "Round", "rounds_away"]

_LARGEST = 0x7F7F_FFFF
_INFINITY = 0x7F80_0000
_ALL_ONES = 0xFF_FFFF


def rounds_away(rm: Value, *, sign: Value, odd: Value, guard: Value, sticky: Value) -> Value:
    """Whether the magnitude is rounded up: ``odd`` is its last bit, ``guard`` the next one, ``sticky`` the rest."""
    inexact = guard | sticky
    return (
        ((rm == Rounding.RNE) & guard & (sticky | odd))
        | ((rm == Rounding.RMM) & guard)
        | ((rm == Rounding.RUP) & inexact & ~sign)
        | ((rm == Rounding.RDN) & inexact & sign)
    )


class Denormalise(Component):
    """First step: shifts the significand of a subnormal result to the right, so that rounding finds its last bit.

    Also finds whether the number is tiny. RISC-V detects that after rounding: the number is tiny unless it is at least
    2**-126 when rounded to 24 bits as if the exponent had no lower bound. Combinational.
    """

    def __init__(self) -> None:
        super().__init__({
            "rm": In(Rounding),  # decides whether a number just below 2**-126 is tiny
            "exact": In(Unrounded),  # the number to be rounded
            "aligned": Out(Aligned),  # the same number, its significand cut where the encoding of its result ends
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        exact, aligned = self.exact, self.aligned
        # How far the leading one is below that of the smallest normal number.
        below = Signal(signed(EXPONENT_BITS + 1))
        # At 26 everything is in the sticky bit, so 31 stands for all above.
        distance = Signal(5)
        kept = Signal(25)
        is_below = below > 0
        m.d.comb += [
            below.eq(MIN_EXPONENT - exact.exponent),
            distance.eq(Mux(is_below, Mux(below[5:].any(), 31, below[:5]), 0)),
            kept.eq(Cat(exact.guard, exact.significand)),
        ]
        shifted, lost = shift_right_sticky(kept, distance)
        # The only numbers below 2**-126 that 24 bits round up to it: all ones, then more.
        reaches_normal = (below == 1) & (exact.significand == _ALL_ONES) & rounds_away(
            self.rm, sign=exact.sign, odd=Const(1), guard=exact.guard, sticky=exact.sticky)
        m.d.comb += [
            Cat(aligned.guard, aligned.significand).eq(shifted),
            aligned.sticky.eq(exact.sticky | lost),
            # Zero, too, has no leading one.
            aligned.exponent.eq(Mux(is_below | ~exact.significand[23], 0, exact.exponent + BIAS)),
            aligned.sign.eq(exact.sign),
            aligned.tiny.eq(is_below & ~reaches_normal),
        ]
        return m


class Round(Component):
    """Second step: rounds, packs, and decides on overflow; or writes what ``special`` says. Combinational."""

    def __init__(self) -> None:
        super().__init__({
            "rm": In(Rounding),  # rounding mode
            "aligned": In(Aligned),  # the number, as Denormalise gives it; without meaning where `special` is a result
            "special": In(Special),  # NaN or infinity instead of a rounded number, and its flags
            "result": Out(32),  # the encoding
            "flags": Out(Flags),  # what the rounding or the special case raises
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        aligned, special = self.aligned, self.special
        magnitude = Signal(33)
        inexact = aligned.guard | aligned.sticky
        away = rounds_away(self.rm, sign=aligned.sign, odd=aligned.significand[0],
                           guard=aligned.guard, sticky=aligned.sticky)
        # A carry out of the fraction goes into the exponent, which is right from subnormal to normal and beyond.
        m.d.comb += magnitude.eq(Cat(aligned.significand[:23], aligned.exponent) + away)
        number = Signal()
        overflow = Signal()
        to_infinity = Signal()
        m.d.comb += [
            number.eq(~special.nan & ~special.infinite),
            overflow.eq(number & (magnitude[23:] >= 0xFF)),
            # As the directed modes round every inexact number.
            to_infinity.eq((self.rm == Rounding.RNE) | (self.rm == Rounding.RMM)
                           | Mux(aligned.sign, self.rm == Rounding.RDN, self.rm == Rounding.RUP)),
            self.flags.inexact.eq(number & (inexact | overflow)),
            self.flags.underflow.eq(number & inexact & aligned.tiny),
            self.flags.overflow.eq(overflow),
            self.flags.divide_by_zero.eq(special.divide_by_zero),
            self.flags.invalid.eq(special.invalid),
        ]
        with m.If(special.nan):
            m.d.comb += self.result.eq(CANONICAL_NAN)
        with m.Elif(special.infinite):
            m.d.comb += self.result.eq(Cat(Const(_INFINITY, 31), special.sign))
        with m.Elif(overflow):
            m.d.comb += self.result.eq(Cat(Mux(to_infinity, _INFINITY, _LARGEST)[:31], aligned.sign))
        with m.Else():
            m.d.comb += self.result.eq(Cat(magnitude[:31], aligned.sign))
        return m
