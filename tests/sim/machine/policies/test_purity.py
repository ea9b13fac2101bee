"""States in a form that can be compared: equal only if the states are the same to every policy."""

import dataclasses
import enum
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pytest

from metronome.sim.machine.policies.purity import plain_data


class Mod4(int):
    """Equal to any number with the same remainder."""

    def __eq__(self, other):
        return int(self) % 4 == int(other) % 4

    def __hash__(self):
        return int(self) % 4


class Loud(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Pair(tuple):
    """Has attributes beside its elements."""


class Colour(enum.IntEnum):
    RED = 1


Point = namedtuple("Point", "x")


@dataclasses.dataclass(frozen=True)
class Whole:
    n: object = 0


@dataclasses.dataclass(frozen=True)
class Part:
    n: int = dataclasses.field(default=0, compare=False)


def with_more(value):
    object.__setattr__(value, "more", [])
    return value


@pytest.mark.parametrize(("one", "other"), [
    (0.0, -0.0), (1, True), (1, 1.0), (1, Colour.RED), ((1,), (True,)), ((1,), Point(1)), ("1", 1),
    (Whole(0.0), Whole(-0.0)), (Part(1), Part(2)), (np.int8(1), np.int64(1)), (frozenset([1]), frozenset([True])),
    (None, 0), (Whole(1), Part(1)), (np.float64(0.0), np.float64(-0.0)),
])
def test_states_that_differ_are_not_equal(one, other):
    assert plain_data(one) != plain_data(other)


@pytest.mark.parametrize("make", [
    lambda: (1, "a", None, 2.5), lambda: Whole((1, frozenset([2]))), lambda: Colour.RED, lambda: np.uint8(3),
    lambda: Point(7), lambda: float("nan"), lambda: Part(3),
])
def test_equal_states_are_equal(make):
    assert plain_data(make()) == plain_data(make())
    assert hash(plain_data(make())) == hash(plain_data(make()))


@pytest.mark.parametrize("state", [
    Mod4(1), Loud("a"), Pair((1,)), [1], {1}, {1: 2}, bytearray(1), Fraction(1, 2), np.zeros(1), object(), len,
    with_more(Whole()), (1, [2]), Whole([]), frozenset([Mod4(1)]),
], ids=lambda state: type(state).__name__)
def test_what_may_change_or_compares_as_it_likes_is_refused(state):
    with pytest.raises(TypeError, match="its state contains a"):
        plain_data(state)
