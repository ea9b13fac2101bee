"""Sums of multiples of values, modulo 2^32: the common part of two values with a constant distance.

A pointer that starts at a different place in each lane and advances by the same step is `4 * lane + something uniform`.
So is the end pointer. Comparing the two for equality therefore gives the same result in all lanes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

__all__ = ["NOTHING", "Affine", "alone", "computed", "multiplied"]

#: Values and their factors, from 1 to 2^32 - 1.
Affine = frozenset[tuple[Hashable, int]]
NOTHING: Affine = frozenset()


class _Product(tuple[Hashable, ...]):
    """The factors of a product that is not a sum."""

    __slots__ = ()


#: A sum with more terms is treated as a single value.
_MOST_PARTS = 12
_CONSTANTS = {"li", "lui", "la", "lla"}
#: Operations whose result differs from the operand by at most a constant.
_KEEPS = {"addi", "mv", "fmv.s", "fmv.x.w", "fmv.w.x", "fmv.x.s", "fmv.s.x"}


def alone(value: Hashable) -> Affine:
    """Return the sum whose only term is ``value``."""
    return frozenset([(value, 1)])


def computed(op: str, operands: Sequence[Affine | str]) -> Affine | None:
    """The result of an operation on registers (sums) and constants (text); None if not a sum, or too long."""
    known = [operand for operand in operands if not isinstance(operand, str)]
    result: Affine | None = None
    if op in _CONSTANTS:
        result = NOTHING
    elif op in _KEEPS and len(known) == 1:
        (result,) = known
    elif op == "neg":
        result = _sum(NOTHING, known[0], -1)
    elif op in ("add", "sub") and len(known) == 2:
        result = _sum(known[0], known[1], 1 if op == "add" else -1)
    elif op == "slli" and isinstance(operands[1], str) and operands[1].isdigit():
        result = _sum(NOTHING, known[0], 1 << int(operands[1]))
    return result


def multiplied(parts: Affine, value: Hashable) -> Affine:
    """Return the product of a sum and a value: a sum of products."""
    return frozenset((_product(part, value), times) for part, times in parts)


def _product(*factors: Hashable) -> _Product:
    """Return the product of values and products, the same for any order of the factors."""
    every = [one for factor in factors for one in (factor if isinstance(factor, _Product) else (factor,))]
    return _Product(sorted(every, key=repr))


def _sum(first: Affine, second: Affine, factor: int) -> Affine | None:
    factors = dict(first)
    for value, times in second:
        factors[value] = (factors.get(value, 0) + factor * times) % (1 << 32)
    result = frozenset((value, times) for value, times in factors.items() if times)
    return result if len(result) <= _MOST_PARTS else None
