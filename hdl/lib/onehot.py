"""Small combinational helpers for one-hot vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amaranth.hdl import Cat, Const, Mux, Value, ValueLike

__all__ = ["encode", "from_lowest", "highest_one", "lowest_one", "one_hot", "or_all", "select"]


def from_lowest(value: Value) -> Value:
    """The bits of ``value``'s width from its lowest set one upwards (0 where there is none).

    A prefix OR: log2(width) levels of logic, where a carry chain (``-value``) is slower on an FPGA for few bits.
    """
    width, distance = len(value), 1
    while distance < width:
        value = (value | (value << distance))[:width]
        distance *= 2
    return value


def lowest_one(value: Value) -> Value:
    """The lowest set bit of ``value`` as a one-hot vector of the same width (0 where there is none)."""
    return value & ~(from_lowest(value) << 1)[: len(value)]


def highest_one(value: Value) -> Value:
    """The highest set bit of ``value`` as a one-hot vector of the same width (0 where there is none)."""
    return lowest_one(Cat(reversed(list(value))))[::-1] if len(value) > 1 else value


def or_all(values: Iterable[Value]) -> Value:
    """The OR of at least one value, as a balanced tree."""
    values = list(values)
    while len(values) > 1:
        values = [values[i] | values[i + 1] if i + 1 < len(values) else values[i] for i in range(0, len(values), 2)]
    return values[0]


def encode(vector: Value) -> Value:
    """The number of the set bit of a one-hot vector (0 for none). At least one bit wide."""
    bits = max(1, (len(vector) - 1).bit_length())
    return Cat(
        or_all([vector[i] for i in range(len(vector)) if i >> bit & 1] or [Const(0, 1)]) for bit in range(bits)
    )


def one_hot(index: Value, width: int) -> Value:
    """``index`` as a one-hot vector of ``width`` bits (0 where it is out of range)."""
    return (Const(1, width) << index)[:width]


def select(vector: Value, values: Sequence[ValueLike]) -> Value:
    """AND-OR multiplexer: the value whose bit is set in the one-hot ``vector``, 0 for none."""
    return or_all([Mux(vector[i], Value.cast(value), 0) for i, value in enumerate(values)])
