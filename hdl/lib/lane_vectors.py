"""Lane vectors: masks of lanes computed bit-sliced, all lanes at once.

A comparison of every lane's number with every possible value is threads x values small comparators when written lane by
lane. Transposed (bit k of all lanes' numbers as one vector) it is a handful of operations on lane masks per value,
which is as small in gates and much faster in simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_

from amaranth.hdl import Array, Cat, Module, Signal, Value

__all__ = ["lanes_with", "pick", "transpose"]


def pick(values: Sequence[Value], index: Value) -> Value:
    """``values[index]`` as a case, which simulates faster than a shift of the whole vector."""
    return Array(values)[index] if len(values) > 1 else values[0]


def transpose(m: Module, numbers: Sequence[Value], name: str) -> list[Signal]:
    """Bit k of every lane's number, as one lane vector for each k."""
    vectors = []
    for bit in range(len(numbers[0])):
        vector = Signal(len(numbers), name=f"{name}_bit{bit}")
        m.d.comb += vector.eq(Cat(number[bit] for number in numbers))
        vectors.append(vector)
    return vectors


def lanes_with(m: Module, lanes: Value, numbers: Sequence[Value], values: Iterable[int], name: str) -> list[Signal]:
    """For each of ``values`` the mask of those ``lanes`` whose number it is."""
    vectors = transpose(m, numbers, name)
    masks = []
    for value in values:
        mask = Signal(len(numbers), name=f"{name}_is{value}")
        same = [vector if value >> bit & 1 else ~vector for bit, vector in enumerate(vectors)]
        m.d.comb += mask.eq(reduce(and_, same, lanes))
        masks.append(mask)
    return masks
