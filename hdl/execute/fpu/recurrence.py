"""The digit recurrence of division and square root."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["ROOT_BITS", "STEPS", "Recurrence"]

#: Bits of the quotient or root: one before the point, 23 of a significand (24 if the first one is 0), one to round by.
ROOT_BITS = 26
#: Steps for them.
STEPS = ROOT_BITS // 2


class Recurrence(Component):
    """Quotient or square root of significands, two bits per ``step``, exact: restoring, with no final correction.

    Operands are numbers in [1, 2). The result is ``a / b``, or the square root of ``a``, or of ``2 * a`` if ``odd``. It
    takes :data:`STEPS` steps, but leading bits of the result can be left out: bits for which a step has no ``first`` or
    no ``step`` stay 0, and the result is computed from the next bit on as if it began there. It can thus be placed like
    a subnormal number. Registers keep their value in all other cycles and have no reset.

    With ``holds_trial``, a register has the number that the next step subtracts first. It needs a cycle with
    ``prepare`` between ``load`` and the first step.
    """

    def __init__(self, *, holds_trial: bool = False) -> None:
        self._holds_trial = holds_trial
        super().__init__({
            "load": In(1),  # take the operands
            "step": In(1),  # in a cycle of :data:`STEPS` ones: there is a step
            "active": In(1),  # with ``step``: it finds its second bit
            "first": In(1),  # with ``active``: it finds its first bit, too
            "square_root": In(1),  # a root is wanted, not a quotient; constant from `load` to the last step
            "odd": In(1),  # the root is that of 2 * `a`; in the cycle of `load`, only with `square_root`
            "prepare": In(1),  # with ``holds_trial``: once between `load` and the first step
            "double": In(1),  # with ``prepare``: the root is that of 2 * `a`; then `odd` is 0
            "zero": In(1),  # the result is 0; in the cycle of `load`
            "a": In(24),  # dividend or radicand, in the cycle of `load`; bit 23 is set unless it is 0
            "b": In(24),  # divisor, in the cycle of `load`; bit 23 is set unless the result is undefined
            #: The result's 26 bits, 25 of them after the point, from the cycle after the last step on.
            "root": Out(ROOT_BITS),
            "remainder": Out(1),  # `root` is not all of the result; in the same cycles
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # All have 24 bits after the point except the root, whose lowest bit no root needs.
        rest = Signal(26, reset_less=True)
        root = Signal(ROOT_BITS, reset_less=True)
        divisor = Signal(24, reset_less=True)
        #: The bits that the next step finds.
        marker = Signal(STEPS, reset_less=True)
        m.d.comb += [self.root.eq(root), self.remainder.eq(rest.any())]

        first, second = _places(marker)
        trial = Signal(26, reset_less=True) if self._holds_trial else self._trial(root, divisor, first)
        half = self._bit(m, rest, root, trial, first, "first")
        some, partial = Signal(26), Signal(ROOT_BITS)
        m.d.comb += [some.eq(Mux(self.first, half[0], rest)), partial.eq(Mux(self.first, half[1], root))]
        full = self._bit(m, some, partial, self._trial(partial, divisor, second), second, "second")
        if self._holds_trial:
            with m.If(self.prepare):
                m.d.sync += trial.eq(self._trial(root, divisor, first))
            # Steps that find no bit are those of a division, which always subtracts the divisor.
            with m.Elif(self.step & self.active):
                m.d.sync += trial.eq(self._trial(full[1], divisor, _places(marker >> 1)[0]))
        # `rest` is half of the remainder, as there is no result bit yet.
        whole = (self.odd & ~self.zero).replicate(25) & Cat(Const(0, 1), self.a)
        halved = (~self.odd & ~self.zero).replicate(24) & self.a
        with m.If(self.load):
            m.d.sync += [rest.eq(whole | halved), divisor.eq(self.b)]
        with m.Elif(self.prepare & self.double):
            m.d.sync += rest.eq(rest << 1)
        with m.Elif(self.step & self.active):
            m.d.sync += rest.eq(full[0])
        with m.If(self.load):
            m.d.sync += [root.eq(0), marker.eq(1 << STEPS - 1)]
        with m.Elif(self.step):
            m.d.sync += marker.eq(marker >> 1)
            with m.If(self.active):
                m.d.sync += root.eq(full[1])
        return m

    def _trial(self, root: Value, divisor: Value, marker: Value) -> Value:
        """The number whose trial subtraction finds the bit of weight ``marker``."""
        return Mux(self.square_root, root | marker[1:] | marker[0], Cat(Const(0, 1), divisor))

    def _bit(self, m: Module, rest: Value, root: Value, trial: Value, marker: Value,
             name: str) -> tuple[Signal, Signal]:
        """``rest`` and ``root`` after one more bit, of weight ``marker``.

        ``rest`` is the remainder of the dividend or radicand, scaled by 2 for every bit found, and at most ``2 * root``
        plus the weight of the last bit, so less than 4. The next bit is 1 if the trial subtraction has no borrow: of
        the divisor, or of ``2 * root + marker``, from ``x - (root + marker)**2``.

        The last marker is beyond the trial's end, where it counts twice. A root does not use that bit, and a remainder
        is still detected: the bit is 1 only if there was one.
        """
        difference = Signal(27, name=f"{name}_difference")
        next_rest = Signal(26, name=f"{name}_rest")
        next_root = Signal(ROOT_BITS, name=f"{name}_root")
        doubled = Cat(Const(0, 1), rest)
        fits = ~difference[26]
        m.d.comb += [
            difference.eq(doubled - trial),
            next_rest.eq(Mux(fits, difference, doubled)),
            next_root.eq(root | Mux(fits, marker, 0)),
        ]
        return next_rest, next_root


def _places(marker: Value) -> tuple[Value, Value]:
    """The weights of the first and the second bit of a step."""
    return Cat(Cat(Const(0, 1), bit) for bit in marker), Cat(Cat(bit, Const(0, 1)) for bit in marker)
