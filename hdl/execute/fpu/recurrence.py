"""The digit recurrence of division and square root."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from ...lib.component import Component

__all__ = ["STEPS", "Recurrence"]

#: Bits of the quotient or root after its leading 1: 23 of a significand, and one to round by.
_BITS = 24
#: Steps for them.
STEPS = _BITS // 2


class Recurrence(Component):
    """Quotient or square root of significands, two bits a ``step``, exact: restoring, nothing to correct afterwards.

    Operands are numbers in [1, 2). The result is the square root of ``a``, or of ``2 * a`` where ``odd``; else
    ``a / b``, or ``2 * a / b`` where ``less``. So the result is always in [1, 2). It takes :data:`STEPS` steps.
    Registers keep their value in all cycles without ``load`` and ``step``, and have no reset.
    """

    def __init__(self) -> None:
        super().__init__({
            "load": In(1),  # take the operands
            #: One bit for each step, the first one's highest: two bits of the result in a cycle with one of them.
            "step": In(STEPS),
            "square_root": In(1),  # a root is wanted, not a quotient; constant from `load` to the last step
            "odd": In(1),  # the root is that of 2 * `a`; in the cycle of `load`
            "a": In(24),  # dividend or radicand, in the cycle of `load`; bit 23 is set
            "b": In(24),  # divisor, in the cycle of `load`; bit 23 is set
            "less": Out(1),  # a < b, combinational: the quotient is that of 2 * `a`
            #: The result's 24 bits and a next one to round by, from the cycle after the last step on.
            "root": Out(_BITS + 1),
            "remainder": Out(1),  # `root` is not all of the result; in the same cycles
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # All of them have 24 bits after the point.
        rest = Signal(26, reset_less=True)
        root = Signal(25, reset_less=True)
        divisor = Signal(24, reset_less=True)
        m.d.comb += [self.root.eq(root), self.remainder.eq(rest != 0)]

        # The leading 1 of the result is found here: it takes 1 from the radicand, or the divisor from the dividend.
        once = Signal(25)
        m.d.comb += [once.eq(self.a - self.b), self.less.eq(once[24])]
        fraction = self.a[:23]
        radicand = Mux(self.odd, Cat(Const(0, 2), fraction[:22], ~fraction[22], fraction[22]),
                       Cat(Const(0, 1), fraction))
        dividend = Cat(Const(0, 1), Mux(self.less, (self.a << 1) - self.b, once)[:24])
        with m.If(self.load):
            m.d.sync += [
                rest.eq(Mux(self.square_root, radicand, dividend)),
                root.eq(1 << _BITS),
                divisor.eq(self.b),
            ]

        half = self._bit(m, rest, root, divisor, Cat(Cat(Const(0, 1), bit) for bit in self.step), "first")
        full = self._bit(m, *half, divisor, Cat(Cat(bit, Const(0, 1)) for bit in self.step), "second")
        with m.If(self.step.any()):
            m.d.sync += [rest.eq(full[0]), root.eq(full[1])]
        return m

    def _bit(self, m: Module, rest: Value, root: Value, divisor: Value, marker: Value,
             name: str) -> tuple[Signal, Signal]:
        """``rest`` and ``root`` after one more bit, of weight ``marker``.

        ``rest`` is what is left of the dividend or radicand, scaled by 2 for every bit found, and at most
        ``2 * root`` + the weight of the last bit, so less than 4. The next bit is 1 if the trial subtraction has no
        borrow: of the divisor, or of ``2 * root + marker``, from ``x - (root + marker)**2``.
        """
        trial = Signal(26, name=f"{name}_trial")
        difference = Signal(27, name=f"{name}_difference")
        next_rest = Signal(26, name=f"{name}_rest")
        next_root = Signal(25, name=f"{name}_root")
        doubled = Cat(Const(0, 1), rest)
        fits = ~difference[26]
        m.d.comb += [
            trial.eq(Mux(self.square_root, Cat(Const(0, 1), root) | marker, Cat(Const(0, 1), divisor))),
            difference.eq(doubled - trial),
            next_rest.eq(Mux(fits, difference, doubled)),
            next_root.eq(root | Mux(fits, marker, 0)),
        ]
        return next_rest, next_root
