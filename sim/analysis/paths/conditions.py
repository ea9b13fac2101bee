"""Conditions of branches and thread masks, and value numbering.

Every value that a warp computes has a number, and equal computations of equal values have the same number. So a branch
after a ``split`` or ``pred`` is known to have the same condition, although the two read different registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..code.numbers import TOP, Interval, hull

__all__ = ["ZERO", "Condition", "JoinedValues", "KnownIntervals", "ValueNumbers"]

#: The depth to which the computations of two values are compared where paths join.
_DEPTH = 4

#: The number of the value 0.
ZERO = 0


@dataclass(frozen=True)
class Condition:
    """A comparison of the values with numbers ``a`` and ``b``.

    ``kind``: equal (eq), less signed (lt) or unsigned (ltu), or bit 0 of ``a`` (bit). ``holds``: whether the comparison
    must be true or false.
    """

    kind: str
    a: int
    b: int
    holds: bool

    def negated(self) -> Condition:
        """Return the opposite condition."""
        return Condition(self.kind, self.a, self.b, not self.holds)


class KnownIntervals(dict[int, Interval]):
    """Intervals by value number. The table is cleared when full, since loops keep creating values."""

    MOST = 64

    def note(self, number: int, interval: Interval) -> None:
        """Record the interval of a value."""
        if len(self) >= self.MOST:
            self.clear()
        self[number] = interval


class ValueNumbers:
    """The number of each value, and the operation that computed it."""

    def __init__(self) -> None:
        self._numbers: dict[tuple, int] = {}
        self._made: dict[int, tuple] = {}
        self._next = 1

    def fresh(self) -> int:
        """Return a new number for an unknown value."""
        self._next += 1
        return self._next

    def of(self, name: str, a: int, b: int | tuple[str, int]) -> int:
        """Return the number of operation ``name`` on ``a`` and ``b``; ``b`` may be a constant ("is", number)."""
        if name == "add" and isinstance(b, tuple):
            return self._sum(a, b[1])
        return self._numbered(name, a, b)

    def _sum(self, a: int, constant: int) -> int:
        """Return the number of a value plus a constant. Nested sums are merged, so that loops do not deepen them."""
        source, more = self.base(a)
        constant = constant + more & TOP
        known = self.known(source)
        if known is not None:
            return self.constant(known + constant)
        return source if constant == 0 else self._numbered("add", source, ("is", constant))

    def base(self, value: int) -> tuple[int, int]:
        """Split a value into a base value and an added constant, which may be 0."""
        name, source, constant = self.operation(value)
        return (source, constant[1]) if name == "add" and isinstance(constant, tuple) else (value, 0)

    def extended(self, value: int, bits: int) -> int:
        """Return the number of a value after sign extension by two shifts of ``bits``."""
        return self.of("sra", self.of("sll", value, ("is", bits)), ("is", bits))

    def _numbered(self, name: str, a: int, b: int | tuple[str, int]) -> int:
        key = (name, a, b)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self.fresh()
            self._made[number] = key
        return number

    def operation(self, value: int) -> tuple:
        """Return the arguments of :meth:`of` that created a value; ("", 0, 0) if unknown."""
        return self._made.get(value, ("", 0, 0))

    def constant(self, number: int) -> int:
        """Return the number of a constant."""
        number &= TOP
        return ZERO if number == 0 else self._numbered("is", 0, ("is", number))

    def known(self, value: int) -> int | None:
        """Return the constant that a value equals, or None."""
        if value == ZERO:
            return 0
        name, _, number = self.operation(value)
        return number[1] if name == "is" else None

    def bit(self, value: int) -> Condition:
        """Return the condition that bit 0 of a value is 1."""
        name, a, b = self._made.get(value, ("", 0, 0))
        if name == "sltu" and b == ("is", 1):
            return self.equal(a, ZERO)
        if name == "sltu" and a == ZERO and isinstance(b, int):
            return self.equal(b, ZERO).negated()
        if name in ("sltu", "slt"):
            return Condition("ltu" if name == "sltu" else "lt", a, self._operand(b), True)
        if name == "xor" and b == ("is", 1):
            return self.bit(a).negated()
        return Condition("bit", value, 0, True)

    def _operand(self, operand: int | tuple[str, int]) -> int:
        return operand if isinstance(operand, int) else self.constant(operand[1])

    def equal(self, a: int, b: int, *, flags: frozenset[int] = frozenset()) -> Condition:
        """Return the condition that two values are equal; ``flags``: values known to be 0 or 1."""
        if a == ZERO:
            a, b = b, a
        if b == ZERO:
            name, first, second = self._made.get(a, ("", 0, 0))
            if name in ("xor", "sub"):
                return self.equal(first, self._operand(second))
            if name in ("sltu", "slt") or a in flags:
                return self.bit(a).negated()
        return Condition("eq", min(a, b), max(a, b), True)


class JoinedValues:
    """The value numbers after two paths join, one for each pair of values on the two paths.

    If both values come from the same operation, the joined value is that operation on the joined operands.
    """

    def __init__(self, values: ValueNumbers) -> None:
        self._values = values
        self._numbers: dict[tuple[int, int], int] = {}

    def number(self, first: int, second: int, depth: int = _DEPTH) -> int:
        """Return the number of the value that is ``first`` on one path and ``second`` on the other."""
        if first == second:
            return first
        found = self._numbers.get((first, second))
        if found is None:
            found = self._numbers[first, second] = self._made(first, second, depth)
        return found

    def _made(self, first: int, second: int, depth: int) -> int:
        values = self._values
        (name, a, b), (other, c, d) = values.operation(first), values.operation(second)
        constant = isinstance(b, tuple)
        same = name == other and (b == d if constant else not isinstance(d, tuple))
        if depth == 0 or not same or name in ("", "is"):
            return values.fresh()
        return values.of(name, self.number(a, c, depth - 1), b if constant else self.number(b, d, depth - 1))

    def notes(self, first: KnownIntervals, second: KnownIntervals) -> KnownIntervals:
        """Join the known intervals of both paths."""
        pairs = [(number, number, number) for number in first if number in second]
        pairs += [(one, other, number) for (one, other), number in self._numbers.items()]
        return KnownIntervals({
            number: hull(first[one], second[other]) for one, other, number in pairs if one in first and other in second
        })
